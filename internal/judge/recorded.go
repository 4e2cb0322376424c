package judge

import (
	"encoding/json"
	"fmt"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
)

// Recorded is an interval of a recording as one window, and what was found in it.
type Recorded struct {
	Window *sample.Window
	Target diagnose.Target
	Report *diagnose.Report
	Run    *recording.Run // nil where no command was run, or its end was not seen
}

// Recording reads the interval that was chosen and judges it. Without a target it asks
// for the command that was recorded, where that is wanted, or for the whole
// machine. It compares with what was before; nil for nothing.
func Recording(p *replay.Playback, target diagnose.Target, ofCommand bool, before *Past) (*Recorded, error) {
	j, cost, err := joined(p, target, ofCommand)
	if err != nil {
		return nil, err
	}
	if what := j.Target.Missing(j.Window); what != "" {
		return nil, p.Nobody(what, j.Target.Device != "")
	}
	if j.Report, err = Window(j.Window, j.Target, before, fingerprintOf(p), cost); err != nil {
		return nil, err
	}
	return j, nil
}

// joined reads the interval that was chosen as one window, and whom it is asked
// about.
func joined(p *replay.Playback, target diagnose.Target, ofCommand bool) (*Recorded, source.Cost, error) {
	var all replay.Join
	if err := p.Each(all.Add); err != nil {
		return nil, source.Cost{}, err
	}
	j := &Recorded{Window: all.Window(), Target: target}
	for _, l := range p.Lost() {
		j.Window.Gaps = append(j.Window.Gaps, sample.Gap{Why: "of the recording " + l})
	}
	if end, ok := p.End(); ok {
		j.Run = end.Run
	}
	if ofCommand && len(target.PIDs) == 0 && target.Comm+target.Cgroup+target.Device == "" {
		j.Target = commandOf(p, j)
	}
	cost, err := source.ReadCost(&host.Host{}, j.Window)
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
func commandOf(p *replay.Playback, j *Recorded) diagnose.Target {
	c := p.Header().Command
	w := j.Window
	switch {
	case c == nil:
		return diagnose.Target{}
	case j.Run == nil:
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf(
			"the recording is incomplete: child processes of %s (process %d) are not known", c.Name, c.PID)})
		return diagnose.Target{PIDs: []int{c.PID}}
	}
	var t diagnose.Target
	names := map[int]string{}
	for _, x := range j.Run.Processes {
		t.PIDs = append(t.PIDs, x.PID)
		names[x.PID] = string(x.Comm)
	}
	Rename(w, names)
	if j.Run.Ended {
		DescribeRun(w, time.Duration(j.Run.Seconds*float64(time.Second)), j.Run.Exit, j.Run.How)
	}
	return t
}
