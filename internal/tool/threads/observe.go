package threads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	probe "iocause/internal/source/probe/threads"
)

// Observer watches threads, one interval after the other. It is used by one
// goroutine.
type Observer struct {
	host    *host.Host
	probe   *probe.Probe
	options probe.Options
	lookup  *host.Lookup
	began   time.Time // the interval
	missing []string  // not said yet
	lost    probe.Losses
}

// Open attaches the probe. It needs root, or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host, o probe.Options) (*Observer, error) {
	p, err := probe.Open(h, o)
	if err != nil {
		return nil, fmt.Errorf("watching the threads: %w", err)
	}
	return &Observer{host: h, probe: p, options: o, lookup: host.NewLookup(h), missing: slices.Clone(p.Missing())}, nil
}

// Begin begins the first interval.
func (o *Observer) Begin() error {
	if err := o.probe.Begin(); err != nil {
		return fmt.Errorf("watching the threads: %w", err)
	}
	o.began = o.host.Now()
	return nil
}

// Sweep takes in the threads that have ended. It is to be called every
// SweepEvery of the probe.
func (o *Observer) Sweep() error {
	if err := o.probe.Drain(); err != nil {
		return fmt.Errorf("watching the threads: %w", err)
	}
	return nil
}

// Next ends an interval and begins the next. Our own threads are left out.
func (o *Observer) Next() (*Threads, error) {
	seen, err := o.next()
	if err != nil {
		return nil, fmt.Errorf("watching the threads: %w", err)
	}
	return seen, nil
}

func (o *Observer) next() (*Threads, error) {
	now := o.host.Now()
	usages, err := o.probe.Read()
	if err != nil {
		return nil, err
	}
	seen := &Threads{Version: 1, Begin: o.began, Length: now.Sub(o.began), Notes: o.missing}
	o.began, o.missing = now, nil
	for i := range usages {
		if u := &usages[i]; u.PID != o.host.Self {
			seen.Threads = append(seen.Threads, Thread{*u, sample.RawName(o.lookup.MemoryCgroup(u.Cgroup))})
		}
	}
	if o.options.Waits {
		if seen.Waits, err = o.probe.Waits(); err != nil {
			return nil, err
		}
	}
	lost, err := o.probe.Losses()
	if err != nil {
		return nil, err
	}
	seen.Notes = append(seen.Notes, lost.Since(o.lost)...)
	o.lost = lost
	return seen, nil
}

// Lost says what was lost in all intervals.
func (o *Observer) Lost() []string { return o.lost.Since(nil) }

// Close detaches the probe.
func (o *Observer) Close() error { return o.probe.Close() }

// Observe watches all threads for a time, or until ctx ends.
func Observe(ctx context.Context, h *host.Host, length time.Duration) (seen *Threads, err error) {
	err = watch(ctx, h, 0, session.Loop{Every: length, Count: 1}, func(t *Threads) { seen = t })
	return seen, err
}

// Watch watches the threads of a process, 0 for all, and tells of each interval
// until ctx ends.
func Watch(ctx context.Context, h *host.Host, pid int, every time.Duration, to func(*Threads)) error {
	return watch(ctx, h, pid, session.Loop{Every: every}, to)
}

func watch(ctx context.Context, h *host.Host, pid int, loop session.Loop, to func(*Threads)) (err error) {
	o, err := Open(h, probe.Options{PID: pid})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if err := o.Begin(); err != nil {
		return err
	}
	loop.Tick, loop.During = probe.SweepEvery, o.Sweep
	return loop.Run(ctx, func(session.Interval) error {
		seen, err := o.Next()
		if err == nil {
			to(seen)
		}
		return err
	})
}
