package locks

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"iocause/internal/host"
)

// sleepers are threads that slept in the kernel before anybody looked, and sleep on:
// no event tells when they began to wait, and none comes for as long as they do. What
// they sleep in is read from their stacks, and their waits count from the look that
// found them.
type sleepers struct {
	host *host.Host
	now  map[uint32]sleeper  // by thread
	over map[locksKey]uint64 // nanoseconds of waits that have ended
}

type sleeper struct {
	key    locksKey
	sleeps uint64    // how often it had gone to sleep
	since  time.Time // of the look that found it
	until  time.Time // of the last that saw it
}

func newSleepers(h *host.Host) sleepers {
	return sleepers{host: h, now: map[uint32]sleeper{}, over: map[locksKey]uint64{}}
}

// look takes what a look at all threads found at a time.
func (s *sleepers) look(found []locksOpen, at time.Time) {
	before := s.now
	s.now = map[uint32]sleeper{}
	for i := range found {
		o := &found[i]
		tid := uint32(o.Asleep)
		if tid == 0 {
			continue
		}
		one, known := before[tid]
		if known = known && one.sleeps == o.Sleeps; !known {
			one = sleeper{key: locksKey{Tgid: o.Key.Tgid, Call: o.Key.Call}, sleeps: o.Sleeps, since: at}
		} else {
			delete(before, tid)
		}
		if known && one.key.Kind == kindNone {
			one.key.Kind = s.kindOf(o.Key.Tgid, tid)
		}
		one.until = at
		s.now[tid] = one
	}
	for _, one := range before {
		s.add(s.over, &one)
	}
}

func (s *sleepers) add(to map[locksKey]uint64, one *sleeper) {
	if one.key.Kind != kindNone {
		to[one.key] += uint64(one.until.Sub(one.since))
	}
}

// totals are the nanoseconds waited so far. Those of processes that have ended are
// told for the last time.
func (s *sleepers) totals(ended func(pid uint32) bool) map[locksKey]uint64 {
	all := map[locksKey]uint64{}
	for k, ns := range s.over {
		all[k] = ns
		if ended(k.Tgid) {
			delete(s.over, k)
		}
	}
	for _, one := range s.now {
		s.add(all, &one)
	}
	return all
}

// kindOf tells from its stack which lock a thread sleeps for, kindNone where it is
// none or the stack is not to be had: /proc/PID/task/TID/stack.
func (s *sleepers) kindOf(pid, tid uint32) uint32 {
	b, err := os.ReadFile(s.host.Proc(strconv.Itoa(int(pid)), "task", strconv.Itoa(int(tid)), "stack"))
	if err != nil {
		return kindNone
	}
	return kindOfStack(b)
}

// kindOfStack reads the functions of a stack, the innermost first, up to the first
// that is one of a lock.
func kindOfStack(stack []byte) uint32 {
	for line := range bytes.Lines(stack) { // "[<0>] percpu_rwsem_wait+0xaf/0x130"
		_, name, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		name, _, _ = bytes.Cut(name, []byte("+"))
		name, _, _ = bytes.Cut(name, []byte("."))
		switch string(name) {
		case "percpu_rwsem_wait", "__percpu_down_read":
			return kindFreeze
		case "rwsem_down_read_slowpath", "rwsem_down_write_slowpath", "down_read", "down_write", "down_read_killable", "down_write_killable":
			return kindRWSem
		case "__mutex_lock", "__mutex_lock_slowpath", "__mutex_lock_killable_slowpath", "mutex_lock", "mutex_lock_killable", "mutex_lock_io":
			return kindMutex
		}
	}
	return kindNone
}
