package locks

import (
	"errors"
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// put tells the sums of one row; total is how they are told.
func (p *Probe) put(k *locksKey, r *locksRow, total bpf.Total) {
	if int(k.Tgid) == p.host.Self || k.Kind == kindNone || k.Kind >= kinds {
		return
	}
	source := p.fromLock
	if k.Kind == kindFutex {
		source = "tp:sched_switch"
	}
	in := "other call"
	if k.Call < 0 {
		in = "page fault"
	} else if name := p.calls[int(k.Call)]; name != "" {
		in = name
	}
	kind := k.Kind
	if kind == kindFreeze && !changesFiles(in) { // processes that start and end take such a lock for their cgroup
		kind = kindOther
	}
	e, s := sample.Entity{PID: int(k.Tgid), Class: kindNames()[kind]}, float64(r.Ns)/1e9
	total(sample.LockWait, e, s, source)
	total(sample.LockWaits, e, float64(r.Count), source)
	total(sample.LockWaitIn, sample.Entity{PID: int(k.Tgid), Class: in}, s, source)
	switch k.Holder {
	case 0:
	case k.Tgid:
		total(sample.LockOwn, sample.Entity{PID: int(k.Tgid)}, s, source)
	default:
		total(sample.LockHeld, sample.Entity{PID: int(k.Holder)}, s, source)
	}
}

// waits emits the rows of processes that have ended, for the last time, and where
// a window ends all others. A row of a holder that has ended goes when it has
// rested from one sweep to the next: its waiter, which lives, may have begun to
// wait before that.
func (p *Probe) waits(phase sample.Phase, into sample.Sink) error {
	ended := p.lookup.Ended()
	before := p.rests
	p.rests = map[locksKey]locksRow{}
	err := bpf.Totals(p.probe.Map("waits"), phase, into, func(k *locksKey, r *locksRow) bool {
		was, known := before[*k]
		switch {
		case ended(k.Tgid), known && was == *r:
			return true
		case k.Holder != 0 && k.Holder != k.Tgid && ended(k.Holder):
			p.rests[*k] = *r
		}
		return false
	}, p.put)
	if err != nil {
		return fmt.Errorf("reading the waits for locks: %w", err)
	}
	return nil
}

// waiters emits how many threads of a process waited in the window, in the same way.
func (p *Probe) waiters(phase sample.Phase, into sample.Sink) error {
	ended := p.lookup.Ended()
	var gone []uint32
	err := bpf.Each(p.probe.Map("waiters"), func(tgid uint32, w locksWaiters) {
		is := ended(tgid)
		if is {
			gone = append(gone, tgid)
		}
		if (is || phase.Closes()) && int(tgid) != p.host.Self && w.Window == p.probe.Window() {
			into.Put(sample.LockThreads, sample.Entity{PID: int(tgid)}, float64(w.Threads), p.fromLock)
		}
	})
	for _, tgid := range gone {
		_, _, e := bpf.Take[uint32, locksWaiters](p.probe.Map("waiters"), tgid)
		err = errors.Join(err, e)
	}
	if phase.Closes() {
		err = errors.Join(err, p.probe.EndWindow())
	}
	if err != nil {
		return fmt.Errorf("reading who waited for locks: %w", err)
	}
	return nil
}
