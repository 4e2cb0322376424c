package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/judge"
	"iocause/internal/replay"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/source"
	"iocause/internal/tool/verify"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	duration time.Duration
	filter   filter
	dir      string
	format   string
}

func newVerifyCommand(e *env) *cobra.Command {
	o := &verifyOptions{}
	c := &cobra.Command{
		Use:   "verify BEFORE [AFTER]",
		Short: "Tell whether a fix helped: compare a program now and before",
		Args:  arguments(1, "give the number of an incident ('iocause incidents') or a file of 'iocause record', then a recording of after, or none to watch now", "BEFORE", "AFTER"),
		RunE:  func(c *cobra.Command, args []string) error { return runVerify(e, c, o, args) },
	}
	f := c.Flags()
	f.Var(ask.TimeIn(&o.duration, usualLength).From(shortest, goodLength), "duration", "how long to watch")
	f.IntVar(&o.filter.PID, "pid", 0, "of BEFORE, judge this process only")
	f.StringVar(&o.filter.Comm, "comm", "", "of BEFORE, judge processes of this name only")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "of BEFORE, judge processes below this cgroup only")
	f.StringVar(&o.dir, "dir", stateDir, "the agent's directory")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

// runVerify judges the time before, then the same program again.
func runVerify(e *env, c *cobra.Command, o *verifyOptions, args []string) error {
	given, err := o.filter.one(c)
	if err != nil {
		return err
	}
	asked, err := o.filter.Recorded(given)
	if err != nil {
		return err
	}
	opener := newOpener(e, o.dir)
	before, err := judgeRecorded(opener, replay.Numbered(o.dir, args[0]), asked)
	if err != nil {
		return err
	}
	target, err := verify.Target(before.Report)
	if err != nil {
		return &ask.Error{Err: fmt.Errorf("reading %s: it says %s: %w", replay.OneLine(args[0]), before.Report.Primary, err), Next: "give a time when something was wrong; 'iocause diff' compares any two"}
	}
	var after *verify.Seen
	if len(args) == 2 {
		after, err = judgeRecorded(opener, replay.Numbered(o.dir, args[1]), target)
	} else {
		after, err = watchAgain(e, c, o, target)
	}
	if err != nil {
		return err
	}
	outcome := verify.Compare(before, after)
	if o.format == "json" {
		return writeJSON(e.stdout, outcome)
	}
	return show.Outcome(e.stdout, outcome, console.Style(e.stdout, os.Getenv, console.WidestText))
}

// judgeRecorded judges a recording or an incident.
func judgeRecorded(o *replay.Opener, name string, target diagnose.Target) (*verify.Seen, error) {
	p, err := o.File(name, &replay.Interval{})
	if err != nil {
		return nil, err
	}
	r, err := judge.Recording(p, target, true, nil)
	if err = errors.Join(err, p.Close()); err != nil {
		return nil, err
	}
	return &verify.Seen{Window: r.Window, Report: r.Report}, nil
}

// watchAgain judges what goes on now.
func watchAgain(e *env, c *cobra.Command, o *verifyOptions, target diagnose.Target) (*verify.Seen, error) {
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	w, err := judge.Open(watch, e.host, e.sources, openLimit())
	if err != nil {
		return nil, err
	}
	defer w.Close()
	noteRefusals(e.stderr, w.Statuses())
	run := judge.Run{Target: target}
	run.Length = o.duration
	line := console.NewProgress(e.stderr, run.Length, nil)
	run.Progress = func(p source.Progress) { line.Draw(func() string { return console.Observing(p) }) }
	window, target, err := w.Window(watch, &run)
	if err != nil {
		return nil, err
	}
	line.Erase()
	if watch.Err() != nil && window.Length < shortest {
		return nil, session.TooEarly(watch)
	}
	if missing := target.Missing(window); missing != "" {
		return nil, fmt.Errorf("looking for the program to compare: %s; start it and put the same load on it", missing)
	}
	r, err := judge.Live(e.host, window, target, nil)
	if err != nil {
		return nil, err
	}
	return &verify.Seen{Window: window, Report: r}, nil
}
