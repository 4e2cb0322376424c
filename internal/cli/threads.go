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
	"iocause/internal/present/perfetto"
	"iocause/internal/session"
	"iocause/internal/show"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
	"iocause/internal/tool/threads"
	"iocause/internal/version"
)

// threadsOptions are the flags of threads.
type threadsOptions struct {
	intervals
	filter    filter
	by        string
	histogram bool
	playback  playback
}

func newThreadsCommand(e *env) *cobra.Command {
	o := &threadsOptions{}
	c := &cobra.Command{
		Use:   "threads " + intervalUsage,
		Short: "Show how each thread's time divides into states",
		RunE:  func(c *cobra.Command, args []string) error { return runThreads(e, c, o, args) },
	}
	o.bind(c, "busy_threads", "perfetto")
	f := c.Flags()
	f.Var(ask.OneOf(&o.by, "thread", threads.Groupings()...), "by", "thread, process, comm or cgroup")
	f.BoolVar(&o.histogram, "histogram", false, "also show how long the waits of each state were")
	f.IntVar(&o.filter.PID, "pid", 0, "only threads of this process")
	f.StringVar(&o.filter.Comm, "comm", "", "only threads of this name, or of processes of this name")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "only threads in and below this cgroup")
	o.playback.bind(c)
	return c
}

// runThreads is the command.
func runThreads(e *env, c *cobra.Command, o *threadsOptions, args []string) error {
	if err := o.args(args); err != nil {
		return err
	}
	data, err := readEvidence(e, c, &o.playback, incident.SectionThreads)
	if err != nil {
		return err
	}
	if data != nil {
		return playThreads(e.streams, c, o, data, args)
	}
	if err := console.CheckSort(threads.Columns(o.by), o.sort); err != nil {
		return err
	}
	target, err := o.filter.Target(e.host, o.filter.given(c))
	if err != nil {
		return err
	}
	filter := threads.Filter{PID: filters.OnePID(&target), Comm: target.Comm, Cgroup: target.Cgroup}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	observer, err := threads.Open(e.host, probe.Options{PID: filter.PID, Waits: o.histogram})
	if err != nil {
		return err
	}
	absent := filters.NotThere(e.host, target, "")
	next := func() (*threads.Threads, error) {
		seen, err := observer.Next()
		if err == nil {
			seen.Keep(&filter)
			absent.Found(len(seen.Threads) > 0)
		}
		return seen, err
	}
	if err = observer.Begin(); err == nil {
		if o.format == "perfetto" {
			loop := session.Loop{Every: o.every, Count: o.count, Tick: probe.SweepEvery, During: observer.Sweep}
			err = show.FollowThreads(watch, e.stdout, version.Program(), &loop, next)
		} else {
			err = watchThreads(watch, e.streams, o, observer, next)
		}
	}
	return cmp.Or(errors.Join(err, observer.Close()), absent.Err(0))
}

// watchThreads shows one interval after the other.
func watchThreads(watch context.Context, s streams, o *threadsOptions, observer *threads.Observer, next func() (*threads.Threads, error)) error {
	p, layout := threadsPrinter(s, o)
	total := threads.NewRows(o.by)
	intervals := console.Observed{Tick: probe.SweepEvery, During: observer.Sweep, Follow: true,
		Next: func(*session.Interval) ([]table.Table, error) {
			seen, err := next()
			if err != nil {
				return nil, err
			}
			total.Add(seen)
			return seen.Tables(layout)
		},
		Sum: func(length time.Duration) ([]table.Table, error) {
			return total.Tables(length, observer.Lost(), layout)
		},
	}
	return intervals.Show(watch, p, o.every, o.count)
}

// threadsPrinter is who prints the tables, and how they are wanted.
func threadsPrinter(s streams, o *threadsOptions) (*console.Printer, *threads.Layout) {
	p, width := console.NewArrangedPrinter(s.stdout, s.stderr, o.form())
	return p, &threads.Layout{By: o.by, Sort: o.sort, Top: o.top, Width: width, Waits: o.histogram}
}

// playThreads shows the threads of an incident.
func playThreads(s streams, c *cobra.Command, o *threadsOptions, data []byte, args []string) error {
	if err := onlyLive(c, args, "an incident does not have the lengths of waits", "histogram"); err != nil {
		return err
	}
	was, target, err := evidenceOf[threads.Threads](c, &o.filter, incident.SectionThreads, data)
	if err != nil {
		return err
	}
	if err := console.CheckSort(threads.Columns(o.by), o.sort); err != nil {
		return err
	}
	was.Keep(&threads.Filter{PID: filters.OnePID(&target), Comm: target.Comm, Cgroup: target.Cgroup})
	if o.format == "perfetto" {
		w, err := perfetto.New(s.stdout, version.Program(), was.Begin)
		if err != nil {
			return err
		}
		return errors.Join(show.ThreadsCourse(w, was, was.Begin), w.Close())
	}
	p, layout := threadsPrinter(s, o)
	tables, err := was.Tables(layout)
	if err != nil {
		return err
	}
	return p.Print(was.Begin, was.Length, "", tables)
}
