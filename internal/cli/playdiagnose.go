package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
	"iocause/internal/table"
)

// diagnoseRecording judges what was recorded, as if it had been watched now.
func (a *app) diagnoseRecording(c *cobra.Command, o *diagnoseOptions, args []string) error {
	switch {
	case len(args) > 0:
		return &usageError{errors.New("reading the arguments: a recording and a command exclude each other"), "give one of them"}
	case c.Flags().Changed("duration"):
		return &usageError{errors.New("reading the flags: --duration is for what is watched now"), "choose a part of the recording with --from and --to"}
	}
	given, err := o.checkFlags(c, args)
	if err != nil {
		return err
	}
	target, err := o.filter.recordedTarget(given)
	if err != nil {
		return err
	}
	from, err := a.play(&o.playback, true)
	if err != nil {
		return err
	}
	past, err := a.readPast(&o.against, o.playback.dir)
	if past == nil && err == nil { // an incident brings what it was judged against
		past, err = a.pastOfIncident(from.Name)
	}
	if err != nil {
		return errors.Join(err, from.Close())
	}
	j, err := judgeRecorded(from, target, true, past)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	return errors.Join(a.print(j.report, o.format), from.Close())
}

// judgement is a span of a recording as one window, and what was found in it.
type judgement struct {
	window *sample.Window
	target diagnose.Target
	report *diagnose.Report
	run    *recording.Run // nil where no command was run, or its end was not seen
}

// judgeRecorded reads the span that was chosen and judges it. Without a target it asks
// for the command that was recorded, where that is wanted, or for the whole
// machine. It compares with what was before; nil for nothing.
func judgeRecorded(p *replay.Playback, target diagnose.Target, ofCommand bool, before *past) (*judgement, error) {
	j, cost, err := joined(p, target, ofCommand)
	if err != nil {
		return nil, err
	}
	if what := j.target.Unmet(j.window); what != "" {
		return nil, p.Nobody(what, j.target.Device != "")
	}
	against, err := before.against(j.target, fingerprintOf(p))
	if err != nil {
		return nil, err
	}
	j.report = reported(j.window, j.target, against, fingerprintOf(p), cost)
	return j, nil
}

// joined reads the span that was chosen as one window, and whom it is asked
// about.
func joined(p *replay.Playback, target diagnose.Target, ofCommand bool) (*judgement, source.Cost, error) {
	var all replay.Join
	if err := p.Each(all.Add); err != nil {
		return nil, source.Cost{}, err
	}
	j := &judgement{window: all.Window(), target: target}
	for _, l := range p.Lost() {
		j.window.Gaps = append(j.window.Gaps, sample.Gap{Why: "of the recording " + l})
	}
	if end, ok := p.End(); ok {
		j.run = end.Run
	}
	if ofCommand && len(target.PIDs) == 0 && target.Comm+target.Cgroup+target.Device == "" {
		j.target = commandOf(p, j)
	}
	cost, err := source.ReadCost(&host.Host{}, j.window)
	if err != nil {
		return nil, source.Cost{}, err
	}
	cost.CPUSeconds, cost.RSSBytes = all.Cost.CPUSeconds, all.Cost.RSSBytes
	return j, cost, nil
}

// fingerprintOf is that of the machine that was recorded, nil where it is not
// known.
func fingerprintOf(p *replay.Playback) any {
	var f host.Fingerprint
	if text := p.Header().Host; len(text) == 0 || json.Unmarshal(text, &f) != nil {
		return nil
	}
	return f
}

// commandOf is the command that was recorded, as a target; what is known of how
// it ran is put into the window.
func commandOf(p *replay.Playback, j *judgement) diagnose.Target {
	c := p.Header().Command
	w := j.window
	switch {
	case c == nil:
		return diagnose.Target{}
	case j.run == nil:
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf(
			"the recording was not ended in order: of what %s (process %d) started nothing is known", c.Name, c.PID)})
		return diagnose.Target{PIDs: []int{c.PID}}
	}
	var t diagnose.Target
	names := map[int]string{}
	for _, x := range j.run.Processes {
		t.PIDs = append(t.PIDs, x.PID)
		names[x.PID] = string(x.Comm)
	}
	rename(w, names)
	if j.run.Ended {
		describeRun(w, time.Duration(j.run.Seconds*float64(time.Second)), j.run.Exit, j.run.How)
	}
	return t
}

// describeRun says in the window what is odd about how a command ran: a verdict
// on a program that did not do its work is one on something else.
func describeRun(w *sample.Window, ran time.Duration, code int, how string) {
	if ran < shortest {
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf(
			"the command ran for %s, which is too short to show why it waits", table.Duration(ran.Seconds()))})
	}
	if code != 0 {
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf(
			"the command failed (%s), so this may not be how it runs when it works", how)})
	}
}

// reported judges a window and adds what only the outside knows.
func reported(w *sample.Window, target diagnose.Target, before *diagnose.Before, fingerprint any, cost source.Cost) *diagnose.Report {
	r := diagnose.JudgeAgainst(w, target, before)
	r.Host = fingerprint
	r.Cost = diagnose.Cost{CPUSeconds: cost.CPUSeconds, BPFSeconds: cost.BPFSeconds, RSSBytes: cost.RSSBytes, LostEvents: cost.Lost}
	tidy(r)
	return r
}
