// Package locks measures how long threads wait for locks: of the kernel, from
// the tracepoints that only a contended lock reaches, and of their program
// (futexes), from context switches, which are followed only once a look at all
// threads has found one that waits for such a lock.
package locks

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	fromLook = "bpf_iter:task"
)

// Kinds of locks, in the order of enum kind in locks.bpf.c.
const (
	kindNone = iota
	kindMmap
	kindRWSem
	kindMutex
	kindOther
	kindFutex
	kindFreeze
	kinds
)

// kindNames are the classes of lock.wait.
func kindNames() [kinds]string {
	return [kinds]string{kindMmap: sample.ClassMmapLock, kindRWSem: sample.ClassRWSem, kindMutex: sample.ClassMutex, kindOther: sample.ClassOther,
		kindFutex: sample.ClassFutex, kindFreeze: sample.ClassFreeze}
}

// patience is how long context switches are followed after the last look that
// found a thread which waits for a lock of its program.
const patience = 10 * time.Second

// followers are the programs that are attached on suspicion.
func followers() []string { return []string{"on_switch", "on_wakeup"} }

// Metrics is everything that the probe emits.
func Metrics() []sample.Metric {
	return []sample.Metric{sample.LockWait, sample.LockWaits, sample.LockWaitIn, sample.LockOwn, sample.LockHeld,
		sample.LockThreads, sample.LockFutexes}
}

// Probe is the attached probe.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup
	buf    []byte

	fromLock string // where waits for locks of the kernel are seen to end

	begin     time.Time     // of the window
	following time.Time     // since when futexes are followed, zero: they are not
	suspected time.Time     // when a look last found a thread that waits for one
	followed  time.Duration // of the window, before following was last given up
	patience  time.Duration
	calls     map[int]string // names of system calls
	asleep    sleepers

	sweep bpf.Sweep
	rests map[locksKey]locksRow // rows of ended holders at the sweep before
}

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host) (sample.Source, error) {
	p, err := Plan().Open(map[string]any{"futex_call": int32(unix.SYS_FUTEX)})
	if err != nil {
		return nil, fmt.Errorf("opening the locks probe: %w", err)
	}
	for _, program := range followers() {
		if err := p.Detach(program); err != nil {
			return nil, errors.Join(fmt.Errorf("opening the locks probe: %w", err), p.Close())
		}
	}
	return &Probe{host: h, probe: p, lookup: host.NewLookup(h), patience: patience, calls: callNames(), asleep: newSleepers(h), fromLock: p.Ways()[0].Hooks[1]}, nil
}

// Plan is what the probe loads.
func Plan() *bpf.Plan {
	return &bpf.Plan{Object: _LocksBytes, Programs: []bpf.Program{
		{Name: "on_switch", Tracepoint: "sched_switch"},
		{Name: "on_wakeup", Tracepoint: "sched_wakeup"},
		{Name: "look"},
	}, Capabilities: []bpf.Capability{bpf.KernelLocks()}}
}

// Ways says how waits for locks are seen.
func (p *Probe) Ways() []sample.Way { return p.probe.Ways() }

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: a look at every tick, figures where a
// window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	if phase == sample.First {
		p.begin = time.Now()
	}
	open, e := p.look()
	if e != nil {
		return errors.Join(err, e)
	}
	p.asleep.look(open, time.Now())
	if phase != sample.Last {
		err = errors.Join(err, p.suspect(open))
	}
	if p.sweep.Due(phase, p.host.Now()) {
		err = errors.Join(err, p.waits(phase, into), p.waiters(phase, into), p.probe.Processes(p.lookup, into))
	}
	if !phase.Closes() {
		return err
	}
	p.watched(into)
	into.Put(sample.LockWait, sample.Entity{}, 0, p.fromLock) // nobody waited is a measurement too
	for i := range open {
		if open[i].Ns > 0 {
			p.put((*locksKey)(&open[i].Key), &locksRow{Ns: open[i].Ns}, into.PutTotal)
		}
	}
	for k, ns := range p.asleep.totals(p.lookup.Ended()) {
		p.put(&k, &locksRow{Ns: ns}, into.PutTotal)
	}
	return errors.Join(err, p.probe.Losses("locks", []string{"lost_tasks", "lost_rows", "lost_threads", "lost_processes", "missed_ends"}, into))
}

// look runs the iterator: waits that go on, and threads that wait for a lock
// of their program.
func (p *Probe) look() ([]locksOpen, error) {
	const size = int(unsafe.Sizeof(locksOpen{}))
	var err error
	if p.buf, err = p.probe.ReadIterator("look", size, p.buf); err != nil {
		return nil, err
	}
	open := make([]locksOpen, len(p.buf)/size)
	for i := range open { // a record may lie at any address
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&open[i])), size), p.buf[i*size:])
	}
	return open, nil
}

// suspect has context switches followed when a thread is seen that waits for a
// lock of its program, until none has been seen for a while.
func (p *Probe) suspect(open []locksOpen) error {
	now := time.Now()
	found := slices.ContainsFunc(open, func(o locksOpen) bool { return o.Suspect != 0 && int(o.Key.Tgid) != p.host.Self })
	switch {
	case found && p.following.IsZero():
		var clock unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &clock); err != nil {
			return fmt.Errorf("reading the clock: %w", err)
		}
		if err := p.probe.SetVariable("followed_from", uint64(clock.Nano())); err != nil {
			return fmt.Errorf("following waits for futexes: %w", err)
		}
		for _, program := range followers() {
			if err := p.probe.Attach(program); err != nil {
				return fmt.Errorf("following waits for futexes: %w", err)
			}
		}
		p.following, p.suspected = now, now
	case found:
		p.suspected = now
	case !p.following.IsZero() && now.Sub(p.suspected) > p.patience:
		for _, program := range followers() {
			if err := p.probe.Detach(program); err != nil {
				return fmt.Errorf("ending to follow waits for futexes: %w", err)
			}
		}
		p.followed += p.since(now)
		p.following = time.Time{}
	}
	return nil
}

// since is for how long futexes have been followed in this window, without a pause.
func (p *Probe) since(now time.Time) time.Duration {
	switch {
	case p.following.IsZero():
		return 0
	case p.following.After(p.begin):
		return now.Sub(p.following)
	}
	return now.Sub(p.begin)
}

// watched says for how much of the window futexes were followed, and begins
// the next.
func (p *Probe) watched(into sample.Sink) {
	now := time.Now()
	seconds := (p.followed + p.since(now)).Seconds()
	p.begin, p.followed = now, 0
	into.Put(sample.LockFutexes, sample.Entity{}, seconds, fromLook)
}
