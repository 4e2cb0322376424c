package latency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iocause/internal/callstack"
	"iocause/internal/host"
	"iocause/internal/session"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/symbol"
)

// DefaultSlow is the length of calls from which on stacks are kept.
const DefaultSlow = time.Millisecond

// Options say what is looked at.
type Options struct {
	Calls []int         // their numbers
	PID   int           // only this process; 0 for all
	Slow  time.Duration // stacks of calls that took so long; 0 for none
	Rows  int           // room in the kernel, 8 KB each; 0 as the probe has it
}

// Observer watches system calls, one interval after the other. It is used by
// one goroutine.
type Observer struct {
	host    *host.Host
	options Options
	probe   *probe.Latency
	symbols *symbol.Resolver
	names   *slowNames
	began   time.Time // the interval
	missing []string  // not said yet
	lost    probe.Losses
}

// Open attaches the probe. It needs root, or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host, o Options) (*Observer, error) {
	symbols := symbol.New(h)
	p, err := probe.OpenLatency(h, probe.CallOptions{Calls: o.Calls, PID: o.PID, Slow: o.Slow, Rows: o.Rows,
		Met: symbols.Meet, Unwind: callstack.Unwinder(symbols)})
	if err != nil {
		symbols.Close()
		return nil, fmt.Errorf("watching the system calls: %w", err)
	}
	return &Observer{host: h, options: o, probe: p, symbols: symbols, names: newSlowNames(symbols), missing: slices.Clone(p.Missing())}, nil
}

// Begin begins the first interval.
func (o *Observer) Begin() error {
	if err := o.probe.Begin(); err != nil {
		return fmt.Errorf("watching the system calls: %w", err)
	}
	o.began = o.host.Now()
	return nil
}

// Sweep takes in the processes that have ended. It is to be called every
// SweepEvery of the probe.
func (o *Observer) Sweep() error {
	if err := o.probe.Sweep(); err != nil {
		return fmt.Errorf("watching the system calls: %w", err)
	}
	return nil
}

// Next ends an interval and begins the next. Our own calls are left out. The
// stacks get their names when they are shown, or by Name.
func (o *Observer) Next() (*Calls, error) {
	now := o.host.Now()
	calls, err := o.probe.Read()
	if err != nil {
		return nil, fmt.Errorf("watching the system calls: %w", err)
	}
	lost, err := o.probe.Losses()
	if err != nil {
		return nil, fmt.Errorf("watching the system calls: %w", err)
	}
	seen := &Calls{Version: 1, Begin: o.began, Length: now.Sub(o.began), Slow: o.options.Slow, names: o.names,
		Notes: append(o.missing, lost.Since(o.lost)...)}
	seen.Calls = slices.DeleteFunc(calls, func(c probe.Call) bool { return c.PID == o.host.Self })
	o.began, o.missing, o.lost = now, nil, lost
	return seen, nil
}

// Lost says what was lost in all intervals.
func (o *Observer) Lost() []string { return o.lost.Since(nil) }

// Close detaches the probe. Stacks can be given no names from then on.
func (o *Observer) Close() error {
	err := o.probe.Close()
	o.symbols.Close()
	return err
}

// Bounds of what Observe sees.
const (
	mostRows = 500
	mostRoom = 1024 // rows in the kernel: the service has little memory
)

// Observe watches the system calls of all processes for a time, or until ctx
// ends: those with most time, with their stacks.
func Observe(ctx context.Context, h *host.Host, length time.Duration) (seen *Calls, err error) {
	o, err := Open(h, Options{Calls: probe.DefaultCalls(), Slow: DefaultSlow, Rows: mostRoom})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if err := o.Begin(); err != nil {
		return nil, err
	}
	loop := session.Loop{Every: length, Count: 1, Tick: probe.SweepEvery, During: o.Sweep}
	err = loop.Run(ctx, func(session.Interval) (err error) {
		seen, err = o.Next()
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(seen.Calls, func(x, y probe.Call) int { return cmp.Compare(y.Wall, x.Wall) })
	seen.Without, seen.Left = without(), max(0, len(seen.Calls)-mostRows)
	seen.Calls = seen.Calls[:len(seen.Calls)-seen.Left]
	for i := range seen.Calls {
		seen.nameStacks(&seen.Calls[i])
	}
	seen.StackNotes, seen.names = seen.names.notes(), nil
	return seen, nil
}
