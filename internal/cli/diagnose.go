package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/bpf"
	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/judge"
	"iocause/internal/lab"
	"iocause/internal/picture"
	"iocause/internal/report"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
)

// openLimit is how long a source may take to open before it is done without. The
// emulated machines in which scenarios run check kernel programs at a tenth of
// the speed, and are the only place where it is known to take longer.
func openLimit() time.Duration {
	if lab.InGuest() {
		return 5 * time.Minute
	}
	return 15 * time.Second
}

// usualLength is how long diagnose watches unless it is told, or is given a command
// to watch until that ends.
const usualLength = 10 * time.Second

// shortest is the shortest window that shows anything.
const shortest = session.Shortest

// goodLength is the advice where a length is none that shows anything.
const goodLength = "give 100ms or more; 10s is a good start"

// diagnoseOptions are the flags of diagnose.
type diagnoseOptions struct {
	duration time.Duration
	filter   filter
	format   string
	whole    bool
	exitCode bool
	page     string // the file of the page; "" for none
	failOn   failOn
	playback playback
	against  pastOptions
}

func newDiagnoseCommand(e *env) *cobra.Command {
	o := &diagnoseOptions{}
	c := &cobra.Command{
		Use:   "diagnose [flags] [-- COMMAND ...]",
		Short: "Watch for some seconds and name the cause of slow I/O",
		Args: func(c *cobra.Command, args []string) error {
			if before := argsBeforeDash(c, args); len(before) > 0 {
				return &ask.Error{Err: fmt.Errorf("reading the arguments: %q is not a flag", before[0]), Next: orDuration(c, before[0], "put -- before a command to watch; see 'iocause diagnose --help'")}
			}
			return checkCommandGiven(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return runDiagnose(e, c, o, args) },
	}
	o.bind(c)
	return c
}

func (o *diagnoseOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.Var(ask.TimeIn(&o.duration, usualLength).From(shortest, goodLength), "duration", "how long to watch")
	f.IntVar(&o.filter.PID, "pid", 0, "limit the diagnosis to this process")
	f.StringVar(&o.filter.Comm, "comm", "", "limit it to processes of this name")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "limit it to the processes in and below this cgroup")
	f.StringVar(&o.filter.Device, "device", "", "limit it to I/O on this block device")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	f.BoolVarP(&o.whole, "verbose", "v", false, "also show sources of figures, what was ruled out and why, and what would disprove the finding")
	f.StringVarP(&o.page, "output", "o", "", "also write a page: FILE.html")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit with the code of the COMMAND")
	o.playback.bind(c)
	o.failOn.bind(c)
	o.against.bind(c)
}

// check finds out whether the options make sense together, and what they ask.
func (o *diagnoseOptions) check(h *host.Host, c *cobra.Command, command []string) (diagnose.Target, error) {
	given, err := o.checkFlags(c, command)
	if err != nil {
		return diagnose.Target{}, err
	}
	return o.filter.Target(h, given)
}

// checkFlags returns the filters that are given.
func (o *diagnoseOptions) checkFlags(c *cobra.Command, command []string) ([]string, error) {
	if err := o.failOn.check(); err != nil {
		return nil, err
	}
	if o.page == "-" {
		return nil, &ask.Error{Err: errors.New("reading --output: standard output is for the finding"), Next: "give a file, or use 'iocause report -o -' on a recording"}
	}
	if err := checkBeside(o.page); err != nil {
		return nil, err
	}
	given, err := o.filter.one(c)
	if err != nil {
		return nil, err
	}
	if len(command) > 0 && len(given) > 0 {
		return nil, &ask.Error{Err: fmt.Errorf("reading the flags: --%s and a command cannot be combined: the command is what is watched", given[0]), Next: "give one of them"}
	}
	if len(command) == 0 && o.exitCode {
		return nil, &ask.Error{Err: errors.New("reading the flags: --exit-code needs a command to take the code from"), Next: "add -- COMMAND, or leave it out"}
	}
	return given, nil
}

// runDiagnose is the command: open, watch, judge, print.
func runDiagnose(e *env, c *cobra.Command, o *diagnoseOptions, args []string) error {
	if play, err := o.playback.asked(c); err != nil {
		return err
	} else if play {
		return diagnoseRecording(e, c, o, args)
	}
	target, err := o.check(e.host, c, args)
	if err != nil {
		return err
	}
	before, err := readPast(e, &o.against, o.playback.dir)
	if err != nil {
		return err
	}
	var ch *session.Child
	if len(args) > 0 {
		if ch, err = newChild(e.streams, args, e.stderr); err != nil {
			return err
		}
	}
	watch, stop := session.UntilInterrupt(c.Context(), func(s os.Signal) { ch.Signal(s) })
	defer stop()
	absent := filters.NotThere(e.host, target, "")
	absent.Warn(e.stderr)
	w, err := judge.Open(watch, e.host, e.sources, openLimit())
	if err != nil {
		return err
	}
	defer w.Close()
	noteRefusals(e.stderr, w.Statuses())
	run := judge.Run{Target: target, Child: ch}
	if ch == nil || c.Flags().Changed("duration") {
		run.Length = o.duration
	}
	var line *session.Line
	run.Begun = func() { line = console.NewProgress(e.stderr, run.Length, args) }
	run.Progress = func(p source.Progress) { line.Draw(func() string { return console.Observing(p) }) }
	var course *picture.Course
	if o.page != "" {
		course = &picture.Course{}
		run.Step = course.Add
	}
	window, target, err := w.Window(watch, &run)
	if err != nil {
		return err
	}
	line.Erase()
	r, err := conclude(watch, e, o, window, target, absent, before)
	if err == nil && course != nil {
		err = writePage(e, o.page, report.Live(e.host, r, window, course, o.filter.Words(o.filter.given(c))))
	}
	if ch != nil {
		if err := w.Close(); err != nil { // the command may run on for long
			fmt.Fprintf(e.stderr, "iocause: %v; the finding above is complete\n", err)
		}
		if code := waitForChild(watch, e.stderr, ch); err == nil && o.exitCode && code != 0 {
			return &exitError{code}
		}
	}
	if err != nil {
		return err
	}
	return o.failOn.judge(r)
}

// conclude judges the window and prints the finding, if there was anything to
// see. absent is who had not been there at the start, before what it is compared
// with.
func conclude(watch context.Context, e *env, o *diagnoseOptions, w *sample.Window, target diagnose.Target, absent *filters.Absent, before *judge.Past) (*diagnose.Report, error) {
	if watch.Err() != nil && w.Length < shortest {
		return nil, session.TooEarly(watch)
	}
	absent.See(w)
	absent.Found(filters.Nobody(e.host, target) == "")
	if err := absent.Err(w.Seconds()); err != nil {
		return nil, err
	}
	r, err := judge.Live(e.host, w, target, before)
	if err != nil {
		return nil, err
	}
	return r, printReport(e.stdout, r, o.format, o.whole)
}

// noteRefusals says once why no BPF program can be loaded; the report names each gap.
func noteRefusals(notes io.Writer, all []source.Status) {
	for _, s := range all {
		if why := bpf.WhyNone(s.OpenErr); why != "" {
			fmt.Fprintf(notes, "iocause: %s; only /proc is read, so many causes cannot be decided\n", why)
			return
		}
	}
}
