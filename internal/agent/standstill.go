package agent

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// stalls tells of work that stopped while the threads that do it wait, and of
// groups of processes that wait far more than they did. What processes get done
// comes with the tables; only those whose work has fallen, or that wait, are looked
// at, thread by thread: of most whose work has fallen a load has ended, and their
// threads wait for more. Safe for concurrent use.
type stalls struct {
	host    *host.Host
	looking atomic.Bool

	works  *detect.Works // of whoever looks, as what follows
	stands map[detect.Group]*stand

	mu   sync.Mutex
	now  []stall
	good time.Time // until then what was seen stands
}

// stall is a group that stands still.
type stall struct {
	limit sample.Limit
	pids  []int
}

// stand is what was seen of the threads of a group that has fallen.
type stand struct {
	locks, io time.Time // since when each look found some that wait for that; zero: the last did not
	threads   map[int]streak
}

// streak is a thread that each look found waiting for the same.
type streak struct {
	waits    int
	switches uint64
	since    time.Time
}

const (
	// stallHolds is how long threads must have been seen waiting: three looks
	// at every ten seconds. A lock that is held for so long while the work
	// stands still is no contention that passes.
	stallHolds = 20 * time.Second
	// stallIO and stallKnown are the same where threads wait for I/O that does
	// come, and how long the group must have been at work before: to get less
	// done from a disk than from the cache, or from small files than from large
	// ones, is the course of many a job. Each of them must get next to nothing, too.
	stallIO    = time.Minute
	stallKnown = 10 * time.Minute
	// stallStands, or so many looks, is how long what was seen stands: a look may
	// hang, and a source that hangs is not read.
	stallStands = time.Minute
	stallLooks  = 3
	// mostStallPIDs of a group are looked at and asked about.
	mostStallPIDs = 64
)

func newStalls(h *host.Host) *stalls {
	return &stalls{host: h, works: detect.NewWorks(), stands: map[detect.Group]*stand{}}
}

// see takes a window of all processes. Looking at threads is done beside it: a
// file of a process may hang as the process does.
func (s *stalls) see(w *sample.Window) {
	if w.Seconds() <= 0 || !s.looking.CompareAndSwap(false, true) {
		return
	}
	did, members := groupsOf(w)
	go func() {
		defer s.looking.Store(false)
		s.look(w.Start.Add(w.Length), w.Length, did, members)
	}()
}

// groupsOf adds up what the groups of a window did, a second.
func groupsOf(w *sample.Window) (map[detect.Group]detect.Did, map[detect.Group][]int) {
	did, members := map[detect.Group]detect.Did{}, map[detect.Group][]int{}
	of := func(pid int) detect.Group {
		p := w.Processes[pid]
		return detect.Group{Comm: p.Comm, Cgroup: cmp.Or(p.MemoryCgroup, p.IOCgroup, p.CPUCgroup)}
	}
	for pid, p := range w.Processes {
		if !p.Kernel && p.Comm != "" {
			members[of(pid)] = append(members[of(pid)], pid)
		}
	}
	add := func(m sample.Metric, to func(*detect.Did) *float64) {
		w.Each(m, func(e sample.Entity, x *sample.Series) {
			if p, ok := w.Processes[e.PID]; !ok || p.Kernel || p.Comm == "" || e.File.Ino != 0 {
				return
			}
			d := did[of(e.PID)]
			*to(&d) += x.Sum() / w.Seconds()
			did[of(e.PID)] = d
		})
	}
	for _, m := range []sample.Metric{sample.ProcReadChars, sample.ProcWriteChars} {
		add(m, func(d *detect.Did) *float64 { return &d.Chars })
	}
	for _, m := range []sample.Metric{sample.ProcUser, sample.ProcSystem} {
		add(m, func(d *detect.Did) *float64 { return &d.CPU })
	}
	for _, m := range []sample.Metric{sample.ProcReadBytes, sample.ProcWriteBytes} {
		add(m, func(d *detect.Did) *float64 { return &d.Got })
	}
	add(sample.ProcBlkioDelay, func(d *detect.Did) *float64 { return &d.Waits })
	io, other := blockedNow(w, of)
	for g, d := range did {
		d.Got = max(d.Got, d.Chars)
		// The kernel counts a wait when it is over: one that lasts is seen alone.
		d.Waits, d.Locks = max(d.Waits, io[g])+other[g], other[g]
		did[g] = d
	}
	return did, members
}

// blockedNow is how many threads of each group are blocked at the end of a window,
// for I/O and for anything else.
func blockedNow(w *sample.Window, of func(pid int) detect.Group) (io, other map[detect.Group]float64) {
	io, other = map[detect.Group]float64{}, map[detect.Group]float64{}
	w.Each(sample.ProcWaiters, func(e sample.Entity, x *sample.Series) {
		if p, ok := w.Processes[e.PID]; !ok || p.Kernel || p.Comm == "" {
			return
		}
		if e.Class == sample.ClassIO {
			io[of(e.PID)] += x.Last()
		} else {
			other[of(e.PID)] += x.Last()
		}
	})
	return io, other
}

// look finds out whether the groups that have fallen stand still.
func (s *stalls) look(end time.Time, length time.Duration, did map[detect.Group]detect.Did, members map[detect.Group][]int) {
	var now []stall
	stands := map[detect.Group]*stand{}
	fell, waits := s.works.Add(end, length, did)
	for _, f := range waits {
		pids := lookedAt(members[f.Group])
		blocked, threads := blockedThreads(s.host, pids)
		if on := waiters(blocked, f.Locks); len(on) > 0 {
			now = append(now, stall{sample.Limit{Kind: sample.LimitWaiting, Of: nameOf(f.Group), What: sayWaits(&f, end, on, threads)}, pids})
		}
	}
	for _, f := range fell {
		pids := lookedAt(members[f.Group])
		x := s.stands[f.Group]
		if x == nil {
			x = &stand{}
		}
		stands[f.Group] = x
		blocked, threads := blockedThreads(s.host, pids)
		if on := x.add(end, &f, blocked); len(on) > 0 {
			now = append(now, stall{sample.Limit{Kind: sample.LimitStandstill, Of: nameOf(f.Group), What: s.say(&f, end, on, threads)}, pids})
		}
	}
	s.stands = stands
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.good = now, end.Add(max(stallStands, stallLooks*length))
}

// lookedAt are the processes of a group that are looked at and asked about.
func lookedAt(pids []int) []int {
	slices.Sort(pids)
	return pids[:min(len(pids), mostStallPIDs)]
}

func nameOf(g detect.Group) string { return strings.TrimSpace(g.Comm + " " + g.Cgroup) }

// waiters are the threads for which a group waits far more than it did: for I/O or
// for a lock of the kernel, what more of them wait for. Of one that is told for
// what is no I/O, two must wait for a lock: a commit to the journal is none, and
// blocks in the same way.
func waiters(blocked []blockedThread, locks bool) []blockedThread {
	var lock, io []blockedThread
	for _, b := range blocked {
		switch b.waits {
		case waitsKernel:
			lock = append(lock, b)
		case waitsIO:
			io = append(io, b)
		}
	}
	switch {
	case locks && len(lock) < 2:
		return nil
	case locks || len(lock) > len(io):
		return lock
	}
	return io
}

// sayWaits is such a group in words.
func sayWaits(f *detect.Waits, at time.Time, on []blockedThread, threads int) string {
	return fmt.Sprintf("%.3g threads of %q wait in the kernel since %.0f s, before %.2g, and it does %s, before %s; %d of its %d threads wait for %s",
		f.Is.Waits, f.Comm, at.Sub(f.Since).Seconds(), f.Was.Waits, amount(f.Is), amount(f.Was), len(on), threads, waitName(on[0].waits))
}

// add takes what a look found, and tells the threads that the work stands still
// for; none where it does not.
func (x *stand) add(at time.Time, f *detect.Fell, blocked []blockedThread) (on []blockedThread) {
	threads := map[int]streak{}
	var locks, io []blockedThread
	for _, b := range blocked {
		was, ok := x.threads[b.tid]
		if !ok || was.waits != b.waits {
			was = streak{b.waits, b.switches, at}
		}
		threads[b.tid] = was
		long := at.Sub(was.since) >= stallHolds
		switch {
		case b.waits != waitsIO:
			locks = append(locks, b)
			if long {
				on = append(on, b)
			}
		default:
			io = append(io, b)
			if long && b.switches == was.switches { // the I/O does not come back
				on = append(on, b)
			}
		}
	}
	x.threads = threads
	if len(on) > 0 {
		return on
	}
	// Others may wait at each look, where one after the other gets the lock.
	detect.Since(&x.locks, at, len(locks) > 1)
	detect.Since(&x.io, at, len(io) > 0)
	switch {
	case len(locks) > 1 && at.Sub(x.locks) >= stallHolds:
		return locks
	case len(io) > 0 && at.Sub(x.io) >= stallIO && f.Before >= stallKnown && detect.Starves(f.Is.Got, max(f.Is.Waits, float64(len(io)))):
		return io
	}
	return nil
}

// say is a standstill in words.
func (s *stalls) say(f *detect.Fell, at time.Time, on []blockedThread, threads int) string {
	what := fmt.Sprintf("%q has done %s for %.0f s, before %s; %d of its %d threads wait for %s",
		f.Comm, amount(f.Is), at.Sub(f.Since).Seconds(), amount(f.Was), len(on), threads, waitName(on[0].waits))
	if on[0].waits != waitsFile {
		return what
	}
	if path, err := os.Readlink(s.host.Proc(strconv.Itoa(on[0].pid), "fd", strconv.Itoa(on[0].file))); err == nil {
		what += fmt.Sprintf(" %q", path)
	}
	if holder := holderOf(s.host, on[0].pid); holder > 0 {
		what += fmt.Sprintf(", that process %d", holder)
		if name, err := s.host.CommOf(holder); err == nil {
			what += fmt.Sprintf(" (%q)", name)
		}
		what += " holds"
	}
	return what
}

func waitName(waits int) string {
	return map[int]string{waitsMutex: "a lock of the program", waitsFile: "a lock of the file", waitsKernel: "a lock of the kernel", waitsIO: "I/O"}[waits]
}

func amount(d detect.Did) string {
	return fmt.Sprintf("%.1f kB/s in calls and %.2g of a processor", d.Chars/1000, d.CPU)
}

// take are the standstills of the newest look, unless that is too long ago. Of nil
// there are none.
func (s *stalls) take(now time.Time) (limits []sample.Limit) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.good) {
		return nil
	}
	for _, x := range s.now {
		limits = append(limits, x.limit)
	}
	return limits
}

// whose are the processes of the standstills among limits.
func (s *stalls) whose(limits []sample.Limit) (pids []int) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.now {
		if slices.ContainsFunc(limits, func(l sample.Limit) bool { return l.Kind == x.limit.Kind && l.Of == x.limit.Of }) {
			pids = append(pids, x.pids...)
		}
	}
	return pids
}
