package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/filters"
	"iocause/internal/incident"
	"iocause/internal/session"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
	"iocause/internal/tool/latency"
)

// latencyOptions are the flags of latency.
type latencyOptions struct {
	intervals
	filter   filter
	calls    []string
	parts    bool
	slow     time.Duration
	playback playback
}

func newLatencyCommand(e *env) *cobra.Command {
	o := &latencyOptions{}
	c := &cobra.Command{
		Use:   "latency " + intervalUsage,
		Short: "Show what the time of system calls is made of",
		RunE:  func(c *cobra.Command, args []string) error { return runLatency(e, c, o, args) },
	}
	o.bind(c, "wall_s")
	f := c.Flags()
	f.StringSliceVar(&o.calls, "syscall", nil, "only these calls, by name or number, or all")
	f.BoolVar(&o.parts, "parts", false, "also show the percentiles of every part")
	f.Var(ask.TimeIn(&o.slow, latency.DefaultSlow), "slow", "keep stacks of calls this long or longer; 0: none")
	f.IntVar(&o.filter.PID, "pid", 0, "only calls of this process")
	f.StringVar(&o.filter.Comm, "comm", "", "only calls of processes of this name")
	o.playback.bind(c)
	return c
}

// runLatency is the command.
func runLatency(e *env, c *cobra.Command, o *latencyOptions, args []string) error {
	data, err := readEvidence(e, c, &o.playback, incident.SectionLatency)
	if err != nil {
		return err
	}
	if data != nil {
		return playCalls(e.streams, c, o, data, args)
	}
	if err := o.args(args); err != nil {
		return err
	}
	if err := console.CheckSort(latency.Columns(), o.sort); err != nil {
		return err
	}
	numbers := probe.DefaultCalls()
	if c.Flags().Changed("syscall") {
		if numbers, err = latency.Numbers(o.calls); err != nil {
			return err
		}
	}
	target, err := o.filter.Target(e.host, o.filter.given(c))
	if err != nil {
		return err
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	observer, err := latency.Open(e.host, latency.Options{Calls: numbers, PID: filters.OnePID(&target), Slow: o.slow})
	if err != nil {
		return err
	}
	absent := filters.NotThere(e.host, target, "")
	next := func() (*latency.Calls, error) {
		seen, err := observer.Next()
		if err == nil {
			seen.Keep(&latency.Filter{Comm: target.Comm})
			absent.Found(len(seen.Calls) > 0)
		}
		return seen, err
	}
	return cmp.Or(errors.Join(watchCalls(watch, e.streams, o, observer, next), observer.Close()), absent.Err(0))
}

// watchCalls shows one interval after the other.
func watchCalls(watch context.Context, s streams, o *latencyOptions, observer *latency.Observer, next func() (*latency.Calls, error)) error {
	if err := observer.Begin(); err != nil {
		return err
	}
	p, layout := latencyPrinter(s, o)
	var total latency.Calls
	intervals := console.Observed{Tick: probe.SweepEvery, During: observer.Sweep, Follow: true,
		Next: func(*session.Interval) ([]table.Table, error) {
			seen, err := next()
			if err != nil {
				return nil, err
			}
			total.Add(seen)
			return seen.Tables(layout)
		},
		Sum: func(time.Duration) ([]table.Table, error) {
			total.Notes = observer.Lost()
			return total.Tables(layout)
		},
	}
	return intervals.Show(watch, p, o.every, o.count)
}

// latencyPrinter is who prints the tables, and how they are wanted.
func latencyPrinter(s streams, o *latencyOptions) (*console.Printer, *latency.Layout) {
	p, width := console.NewArrangedPrinter(s.stdout, s.stderr, o.form())
	return p, &latency.Layout{Sort: o.sort, Top: o.top, Width: width, Parts: o.parts, Slow: o.slow > 0 && o.format != "csv"}
}

// playCalls shows the system calls of an incident.
func playCalls(s streams, c *cobra.Command, o *latencyOptions, data []byte, args []string) error {
	if err := onlyLive(c, args, ""); err != nil {
		return err
	}
	was, target, err := evidenceOf[latency.Calls](c, &o.filter, incident.SectionLatency, data)
	if err != nil {
		return err
	}
	if err := console.CheckSort(latency.Columns(), o.sort); err != nil {
		return err
	}
	filter := latency.Filter{PID: filters.OnePID(&target), Comm: target.Comm, Slow: o.slow}
	if c.Flags().Changed("syscall") {
		if err := was.Only(o.calls, &filter); err != nil {
			return err
		}
	}
	if err := was.Replay(&filter); err != nil {
		return err
	}
	p, layout := latencyPrinter(s, o)
	tables, err := was.Tables(layout)
	if err != nil {
		return err
	}
	return p.Print(was.Begin, was.Length, "", tables)
}
