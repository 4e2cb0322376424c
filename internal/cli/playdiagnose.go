package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/incident"
	"iocause/internal/judge"
	"iocause/internal/replay"
	"iocause/internal/report"
)

// pastOptions are the flags for what a diagnosis is compared with.
type pastOptions struct {
	file, from, to string
}

func (o *pastOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.file, "against", "", "baseline: compare with this recording")
	f.StringVar(&o.from, "against-from", "", "start there in the baseline")
	f.StringVar(&o.to, "against-to", "", "end there in the baseline")
}

// readPast reads what to compare with; nil where nothing is asked for. An
// incident is named by its number in that folder of an agent.
func readPast(e *env, o *pastOptions, dir string) (*judge.Past, error) {
	if o.file == "" {
		if o.from+o.to != "" {
			return nil, &ask.Error{Err: errors.New("reading the flags: --against-from and --against-to choose a part of a recording"), Next: "give --against FILE, too"}
		}
		return nil, nil
	}
	p, err := newOpener(e, dir).File(replay.Numbered(dir, o.file), &replay.Interval{From: o.from, To: o.to, FromFlag: "against-from", ToFlag: "against-to"})
	if err != nil {
		return nil, err
	}
	return judge.ReadPast(p)
}

// diagnoseRecording judges what was recorded, as if it had been watched now.
func diagnoseRecording(e *env, c *cobra.Command, o *diagnoseOptions, args []string) error {
	switch {
	case len(args) > 0:
		return &ask.Error{Err: errors.New("reading the arguments: a recording and a command cannot be combined"), Next: "give one of them"}
	case c.Flags().Changed("duration"):
		return &ask.Error{Err: errors.New("reading the flags: --duration is for watching live"), Next: "choose a part of the recording with --from and --to"}
	}
	given, err := o.checkFlags(c, args)
	if err != nil {
		return err
	}
	target, err := o.filter.Recorded(given)
	if err != nil {
		return err
	}
	from, err := openPlayback(e, &o.playback, true)
	if err != nil {
		return err
	}
	past, err := readPast(e, &o.against, o.playback.dir)
	if past == nil && err == nil { // an incident brings what it was judged against
		past, err = incident.Past(newOpener(e, stateDir), from.Name)
	}
	if err != nil {
		return errors.Join(err, from.Close())
	}
	j, err := judge.Recording(from, target, true, past)
	if err == nil {
		err = printReport(e.stdout, j.Report, o.format, o.whole)
	}
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	if o.page != "" {
		quiet := newOpener(e, o.playback.dir)
		quiet.Note = func(error) {} // it was said
		page, err := report.Of(quiet, report.Ask{Name: o.playback.file, Interval: o.playback.interval(), Target: target, Asked: o.filter.Words(given), Past: past})
		if err != nil {
			return err
		}
		if err := writePage(e, o.page, page); err != nil {
			return err
		}
	}
	return o.failOn.judge(j.Report)
}
