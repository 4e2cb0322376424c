package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/incident"
	"iocause/internal/sample"
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
		Use:     "latency " + intervalUsage,
		Short:   "Show what the time of system calls is made of",
		Long:    helpOf("latency"),
		Example: examplesOf("latency"),
		RunE:    func(c *cobra.Command, args []string) error { return runLatency(e, c, o, args) },
	}
	o.bind(c, "wall_s")
	f := c.Flags()
	f.StringSliceVar(&o.calls, "syscall", nil, "only these calls, by name or number, or all")
	f.BoolVar(&o.parts, "parts", false, "show the percentiles of every part, too")
	f.Var(timeIn(&o.slow, latency.DefaultSlow), "slow", "stacks of calls this long, 0 for none")
	f.IntVar(&o.filter.pid, "pid", 0, "only calls of this process")
	f.StringVar(&o.filter.comm, "comm", "", "only calls of processes of this name")
	o.playback.bind(c)
	return c
}

// callNumbers are the calls to look at.
func (o *latencyOptions) callNumbers(given bool) ([]int, error) {
	if !given {
		return probe.DefaultCalls(), nil
	}
	var numbers []int
	for _, name := range o.calls {
		if name == "all" {
			for nr := range probe.CallNames() {
				numbers = append(numbers, nr)
			}
			continue
		}
		nr, ok := probe.CallNumber(name)
		if !ok {
			return nil, noSuchCall(name)
		}
		numbers = append(numbers, nr)
	}
	if len(numbers) == 0 {
		return nil, noCalls()
	}
	return numbers, nil
}

func noSuchCall(name string) error {
	return &usageError{fmt.Errorf("reading --syscall: no system call is called %q", name), "give names as 'man 2 syscalls' lists them, numbers, or all"}
}

func noCalls() error {
	return &usageError{errors.New("reading --syscall: it is empty"), "give names such as read,fsync, or all"}
}

func (o *latencyOptions) checkSlow() error {
	if o.slow < 0 {
		return &usageError{fmt.Errorf("reading --slow: %v is no length of a call", o.slow), "give 0 for no stacks, or a time such as 10ms"}
	}
	return nil
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
	if err := checkSort(latency.Columns(), o.sort); err != nil {
		return err
	}
	numbers, err := o.callNumbers(c.Flags().Changed("syscall"))
	if err != nil {
		return err
	}
	if err := o.checkSlow(); err != nil {
		return err
	}
	target, err := o.filter.target(e.host, o.filter.given(c))
	if err != nil {
		return err
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	observer, err := latency.Open(e.host, latency.Options{Calls: numbers, PID: onePID(&target), Slow: o.slow})
	if err != nil {
		return err
	}
	return errors.Join(watchCalls(watch, e.streams, o, observer, &latency.Filter{Comm: target.Comm}), observer.Close())
}

// watchCalls shows one interval after the other.
func watchCalls(watch context.Context, s streams, o *latencyOptions, observer *latency.Observer, filter *latency.Filter) error {
	if err := observer.Begin(); err != nil {
		return err
	}
	p, layout := latencyPrinter(s, o)
	var total latency.Calls
	return showIntervals(watch, s.stderr, &o.intervals, p, &observed{tick: latency.SweepEvery, during: observer.Sweep, follow: true,
		next: func(*session.Interval) ([]table.Table, error) {
			seen, err := observer.Next()
			if err != nil {
				return nil, err
			}
			seen.Keep(filter)
			total.Add(seen)
			return seen.Tables(layout)
		},
		sum: func(time.Duration) ([]table.Table, error) {
			total.Notes = observer.Lost()
			return total.Tables(layout)
		},
	})
}

// latencyPrinter is who prints the tables, and how they are wanted.
func latencyPrinter(s streams, o *latencyOptions) (*printer, *latency.Layout) {
	p, width := arrangedPrinter(s, &o.intervals)
	return p, &latency.Layout{Sort: o.sort, Top: o.top, Width: width, Parts: o.parts, Slow: o.slow > 0 && o.format != "csv"}
}

// wantedCalls reads --syscall for calls that were kept, by name or number; nil is
// all of them. What was not looked at is refused.
func (o *latencyOptions) wantedCalls(k *latency.Calls) (wanted []string, err error) {
	for _, name := range o.calls {
		_, known := probe.CallNumber(name)
		kept := slices.ContainsFunc(k.Calls, func(c probe.Call) bool { return c.Name == name })
		switch n, err := strconv.Atoi(name); {
		case name == "all":
			return nil, nil
		case slices.Contains(k.Without, name):
			return nil, &usageError{fmt.Errorf("reading --syscall: the incident holds no %s: calls that wait for something to happen were not looked at", name),
				"see 'iocause threads --recording' and 'iocause offcpu --recording' for waits"}
		case err == nil:
			wanted = append(wanted, strconv.Itoa(n))
		case !known && !kept:
			return nil, noSuchCall(name)
		default:
			wanted = append(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return nil, noCalls()
	}
	return wanted, nil
}

// playCalls shows the system calls of an incident.
func playCalls(s streams, c *cobra.Command, o *latencyOptions, data []byte, args []string) error {
	if err := oneTime(args); err != nil {
		return err
	}
	if err := o.args(nil); err != nil {
		return err
	}
	if err := o.checkSlow(); err != nil {
		return err
	}
	target, err := o.filter.recordedTarget(o.filter.given(c))
	if err != nil {
		return err
	}
	was, err := incident.As[latency.Calls](data, incident.SectionLatency)
	if err != nil {
		return err
	}
	if o.slow > 0 && o.slow < was.Slow {
		return &usageError{fmt.Errorf("reading --slow: the incident holds the stacks of calls that took %v or longer", was.Slow), "give that or more"}
	}
	if err := checkSort(latency.Columns(), o.sort); err != nil {
		return err
	}
	filter := latency.Filter{PID: onePID(&target), Comm: target.Comm, Slow: o.slow}
	if c.Flags().Changed("syscall") {
		if filter.Calls, err = o.wantedCalls(was); err != nil {
			return err
		}
		if filter.Calls == nil && len(was.Without) > 0 {
			was.Notes = append(was.Notes, "not looked at, as they wait for something to happen: "+strings.Join(was.Without, ", "))
		}
	}
	if was.Left > 0 {
		was.Notes = append(was.Notes, fmt.Sprintf("%s of processes with less time are not kept", sample.Counted(was.Left, "call")))
	}
	was.Keep(&filter)
	p, layout := latencyPrinter(s, o)
	tables, err := was.Tables(layout)
	if err != nil {
		return err
	}
	return p.print(was.Begin, was.Length, "", tables)
}
