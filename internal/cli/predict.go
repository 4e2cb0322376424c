package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/filters"
	"iocause/internal/output"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/table"
	"iocause/internal/tool/predict"
)

// predictOptions are the flags of predict.
type predictOptions struct {
	filter   filter
	file     string
	duration time.Duration
	memory   string
	writes   bool
	rate     ask.Size
	limit    ask.Size
	format   string
	output   string
}

// predictLength is how long it watches unless told otherwise.
const predictLength = time.Minute

func newPredictCommand(e *env) *cobra.Command {
	o := &predictOptions{}
	c := &cobra.Command{
		Use:   "predict [flags]",
		Short: "Predict what more or less memory would do for reads",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runPredict(e, c, o) },
	}
	f := c.Flags()
	f.IntVar(&o.filter.PID, "pid", 0, "only reads of this process")
	f.StringVar(&o.filter.Comm, "comm", "", "only reads of processes of this name")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "only reads of processes in and below this cgroup")
	f.StringVar(&o.file, "file", "", "only reads of this file")
	f.Var(ask.TimeIn(&o.duration, predictLength).From(time.Second, "give 10s or more; 1m is a good start"), "duration", "how long to watch")
	f.StringVar(&o.memory, "memory", "", "additional sizes: 2G, +50%, +4G, -1G")
	f.BoolVar(&o.writes, "writes", false, "predict instead when writers are paused for dirty memory (of the host; watches for 10s)")
	f.Var(&o.rate, "rate", "with --writes: at this many bytes a second instead of the current rate")
	f.Var(&o.limit, "limit", "with --writes: also with this limit of dirty memory (vm.dirty_bytes)")
	f.Var(ask.Formats(&o.format, "json", "csv"), "format", "text, json or csv (the curve)")
	f.StringVarP(&o.output, "output", "o", "", "also write a page: FILE.html")
	return c
}

// runPredict is the command.
func runPredict(e *env, c *cobra.Command, o *predictOptions) error {
	if o.rate > 0 && !o.writes {
		return &ask.Error{Err: errors.New("reading --rate: it needs --writes"), Next: "add --writes"}
	}
	if o.limit > 0 && !o.writes {
		return &ask.Error{Err: errors.New("reading --limit: it needs --writes"), Next: "add --writes; --memory has other sizes of memory"}
	}
	if err := checkBeside(o.output); err != nil {
		return err
	}
	if o.writes {
		return runPredictWrites(e, c, o)
	}
	asks, err := predict.Sizes(o.memory)
	if err != nil {
		return err
	}
	target, err := o.filter.Target(e.host, o.filter.given(c))
	if err != nil {
		return err
	}
	f := predict.Filter{PIDs: target.PIDs, Comm: target.Comm, Cgroup: target.Cgroup}
	if c.Flags().Changed("file") {
		if f.File, err = filters.OneFile(e.host, o.file); err != nil {
			return err
		}
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	observer, err := predict.Open(e.host, f)
	if err != nil {
		return err
	}
	seen := func() string {
		return fmt.Sprintf(" · %s of watched pages seen", sample.Counted(observer.Seen(), "access"))
	}
	loop := session.Loop{Every: o.duration, Count: 1, Tick: predict.Poll, During: observer.Poll}
	line := followed(e, &loop, seen)
	err = loop.Run(watch, func(session.Interval) error {
		line.Say("working it out")
		p, err := observer.Predict(asks)
		line.Erase()
		if err != nil {
			return err
		}
		if err := printPrediction(e, p, o.format); err != nil || o.output == "" {
			return err
		}
		return output.Report(e.stdout, e.stderr, o.output, show.PredictionPage(p))
	})
	return errors.Join(err, observer.Close())
}

// followed has a line say how far a loop is, and more.
func followed(e *env, loop *session.Loop, more func() string) *session.Line {
	line := console.NewProgress(e.stderr, loop.Every, nil)
	loop.Show = func(elapsed time.Duration) {
		line.Draw(func() string {
			return fmt.Sprintf("observing %.0f of %s%s", elapsed.Seconds(), table.Duration(loop.Every.Seconds()), more())
		})
	}
	return line
}

// printPrediction writes it in one of the forms.
func printPrediction(e *env, p *predict.Prediction, format string) error {
	switch format {
	case "json":
		return writeJSONLine(e.stdout, p)
	case "csv":
		return printCurve(e, p.Start, p.Seconds, p.Table())
	}
	if p.Curve == nil {
		defer func() {
			for _, note := range p.Notes {
				fmt.Fprintln(e.stderr, "iocause: "+text.Escape(note))
			}
		}()
	}
	return show.Prediction(e.stdout, p, console.Style(e.stdout, os.Getenv, console.WidestText))
}

// printCurve writes the table of a prediction for programs.
func printCurve(e *env, start time.Time, seconds float64, t table.Table) error {
	return newPrinter(e.streams, &intervals{format: "csv"}).Print(start, time.Duration(seconds*float64(time.Second)), "", []table.Table{t})
}

// writesLength is how long predict --writes watches unless told otherwise.
const writesLength = 10 * time.Second

// runPredictWrites is predict --writes.
func runPredictWrites(e *env, c *cobra.Command, o *predictOptions) error {
	for _, name := range []string{"pid", "comm", "cgroup", "file", "memory"} {
		if c.Flags().Changed(name) {
			return &ask.Error{Err: fmt.Errorf("reading the flags: --writes and --%s cannot be combined: the limits of dirty memory are the host's", name), Next: "leave one of them out"}
		}
	}
	if !c.Flags().Changed("duration") {
		o.duration = writesLength
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	writes, err := predict.WatchWrites(e.host)
	if err != nil {
		return err
	}
	loop := session.Loop{Every: o.duration, Count: 1, Tick: time.Second / 4, During: writes.Poll}
	line := followed(e, &loop, func() string { return "" })
	return loop.Run(watch, func(i session.Interval) error {
		line.Erase()
		if watch.Err() != nil && i.Length < session.Shortest {
			return session.TooEarly(watch)
		}
		w, err := writes.Predict(float64(o.rate), float64(o.limit))
		if err != nil {
			return err
		}
		if err := printWrites(e, w, o.format); err != nil || o.output == "" {
			return err
		}
		return output.Report(e.stdout, e.stderr, o.output, show.WritesPage(w))
	})
}

// printWrites writes it in one of the forms.
func printWrites(e *env, w *predict.Writes, format string) error {
	switch format {
	case "json":
		return writeJSONLine(e.stdout, w)
	case "csv":
		return printCurve(e, w.Start, w.Seconds, w.Table())
	}
	return show.Writes(e.stdout, w, console.Style(e.stdout, os.Getenv, console.WidestText))
}
