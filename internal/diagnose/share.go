package diagnose

import "iocause/internal/sample"

// How much a process is held up is told from its threads that wait, not from all
// that it has: a pool of threads at rest, quiet connections and a flusher that
// wakes once a minute are no reason for the busy one to be well. Of a thread
// counts the time that it is awake: on a processor, queueing for one, blocked on
// I/O or paused. A thread that sleeps for want of work is held up by nothing, and
// time before it began and after it ended is none of its own.
//
// Four figures, and the largest counts (the first two less where a thread fetches ahead
// of others, see ahead):
//
//   - the worst thread: the part of the window that it waits;
//   - all that wait, by turns: the part of their time awake, each thread weighed
//     with what it waits, but no more than the threads that wait at any time. So
//     two commits a second of 2 ms each are nothing, though the thread that makes
//     them does nothing else, and 200 threads that each wait a fiftieth of the
//     time are as much as they feel it;
//   - commits, by turns: the part of the window in which any of the threads waits
//     in a sync; see turns.go;
//   - I/O that was submitted before: the time that a thread sleeps until it is
//     complete, as long as any is in flight.

// spans is what the threads of a process did while they were awake.
type spans struct {
	weighted float64 // seconds waited, each thread's times the share of its time awake
	awake    float64 // seconds awake, of all threads
	worst    float64 // seconds waited by the thread with most of it
	held     float64 // threads that waited for a tenth of their time awake, or longer
	ran      float64 // threads that were awake at all
	alike    bool    // estimated: each thread is taken to do what the others do
}

// spansOf is nil where it is not known how many threads waited. Where waiting is known by
// process only, as in recordings of earlier versions, it is estimated: all threads that
// waited are taken to be alike. How many there are says little, for it counts who waited
// once.
func (c *Case) spansOf(v *victim) *spans {
	e := sample.Entity{PID: v.pid}
	weighted, ok := c.w.Sum(sample.WaitWeighted, e)
	if !ok {
		if c.coarse() == "" || v.threads == 0 || v.blocked() == 0 {
			return nil
		}
		awake := v.blocked() + v.cpu + v.delay
		part := v.blocked() / min(awake, v.threads*c.w.Seconds()) // what is more, others computed
		s := &spans{alike: true, weighted: v.blocked() * min(1, part), awake: awake, worst: v.blocked() / v.threads, ran: v.threads}
		if part >= waitShareLimit {
			s.held = v.threads
		}
		return s
	}
	s := &spans{weighted: weighted}
	s.awake, _ = c.w.Sum(sample.WaitAwake, e)
	s.worst, _ = c.w.Sum(sample.WaitWorst, e)
	s.held, _ = c.w.Value(sample.WaitHeld, e)
	s.ran, _ = c.w.Value(sample.WaitRan, e)
	return s
}

// coarse says what the shares lack where waiting is known by process only, ""
// where it is known by thread.
func (c *Case) coarse() string {
	if c.w.Told || !c.w.Has(sample.WaitIO) || c.w.Has(sample.WaitWeighted) {
		return ""
	}
	return "this window does not have the waiting of each thread (wait.weighted): its threads are taken to be alike, and one that waits among many that compute may look healthy"
}

// blocked is the seconds, summed over threads, that it is blocked on I/O or
// paused for sure: without sleep until I/O in flight is complete.
func (v *victim) blocked() float64 { return v.waitTotal + v.pause - v.async }

// share is the part of their time that threads which wait for I/O do so, 0 to 1.
func (v *victim) share(seconds float64) float64 {
	if v.spans == nil {
		// every thread that ever waited, for all of the window
		return (v.waitTotal + v.pause) / (seconds * max(1, v.threads))
	}
	s, t := v.spans.worst/seconds, v.blocked()
	n := v.threads
	if n == 0 {
		n = v.spans.ran // where their number was lost, too
	}
	if n > 0 { // the worst waits at least as long as they do on average, were its account lost
		s = max(s, t/(seconds*n))
	}
	if t > 0 {
		s = max(s, min(v.spans.weighted/t, t/seconds))
	}
	if v.ahead(seconds) {
		s = (s + min(s, t/v.awake())) / 2
	}
	return clamp01(max(s, v.async/seconds, v.commitsByTurns(seconds)))
}

// ahead tells of a program of which some threads wait for I/O and rest for half of the
// window at least, while others compute all through it: they fetch ahead of these. Then
// what the others do depends on them, or not: the truth is between what they wait and
// that as a part of all that is done. A thread of 7z that waited 11 % of the window for
// its files beside two that compressed them, 6 % of all, held them up by 5 %; one of
// mksquashfs, 39 and 23 %, by 26 to 35 %. Processes that are judged as one are no such
// threads: none of them fetches for another.
func (v *victim) ahead(seconds float64) bool {
	t := v.blocked()
	if v.spans.weighted <= 0 || t <= 0 || v.several > 1 {
		return false
	}
	awake := v.waiting() // of those that wait, which are alike in that
	return awake <= restsHalf*seconds*max(1, v.spans.held) && v.cpu+v.delay+t-awake >= seconds
}

// restsHalf is the part of the window up to which a thread is awake that rests for half
// of it.
const restsHalf = 0.5

// shareOf is the part of share that is a stretch of the waiting, in seconds
// summed over threads.
func (v *victim) shareOf(wait, seconds float64) float64 {
	if t := v.waitTotal + v.pause; t > 0 {
		return v.share(seconds) * wait / t
	}
	return 0
}

// waiters is how many threads at least share the waiting.
func (v *victim) waiters() float64 {
	if v.spans != nil {
		return max(1, v.spans.held)
	}
	return max(1, v.threads)
}

// stalled is the part of a stalling thread's time that it frees memory, 0 to 1.
// Threads that stalled once and then rested take nothing away from it: it is at
// least what it is of all that the process was awake.
func (v *victim) stalled(seconds float64) float64 {
	s := v.stall / (seconds * max(1, v.stallers))
	if v.stall > 0 {
		awake := v.cpu + v.delay + v.blocked() // of who waited for no I/O nothing else is known
		if v.spans != nil {
			awake = v.spans.awake
		}
		s = max(s, min(v.stall/seconds, v.stall/max(v.stall, awake)))
	}
	return s
}

// measureCompletions adds the time that a process sleeps until I/O is complete
// that it submitted before. The kernel does not say whether any is in flight, and
// a thread may wait there for work that comes: so it is no longer than the
// process's requests took, and its device was busy; and requests that other
// threads are blocked on are not those that it sleeps for, as in a database whose
// commits wait beside a thread that reads ahead now and then.
func (c *Case) measureCompletions(v *victim) {
	asleep, ok := c.w.Sum(sample.WaitCompletions, sample.Entity{PID: v.pid})
	if !ok || asleep == 0 {
		return
	}
	of := func(e sample.Entity) bool { return e.PID == v.pid }
	sleep := min(asleep, c.blockTime(of), c.w.Seconds())
	if busy, ok := c.busiestOf(of); ok {
		sleep = min(sleep, busy)
	}
	sleep = max(0, sleep-v.blocked())
	v.async = sleep
	v.wait[sample.ClassAsync] += sleep
	v.waitTotal += sleep
}

// busiestOf is the seconds in which the device that the selected I/O spends most
// time on had any in flight.
func (c *Case) busiestOf(keep func(sample.Entity) bool) (seconds float64, known bool) {
	by := map[string]float64{}
	for _, m := range []sample.Metric{sample.BlockQueueTime, sample.BlockDeviceTime} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.Device != "" && keep(e) {
				by[e.Device] += s.Sum()
			}
		})
	}
	return c.w.Sum(sample.DiskBusy, sample.Entity{Device: largest(by)})
}

// suffering orders processes by how much I/O holds them up, 0 to 1.
func (c *Case) suffering(v *victim) float64 {
	if c.hasAll(v) {
		return 0
	}
	if s := v.share(c.w.Seconds()); s >= waitShareLimit || !c.inFlightOnly(v) {
		return s
	}
	return c.inFlightShare(v)
}

// hasAll tells whether a program has all processors there are, and computes at least
// half of that time itself: while some of its threads wait for I/O the others do as
// much as the machine can, and without the waiting it would do no more. What the
// kernel works for it may be for the I/O, and end with it.
func (c *Case) hasAll(v *victim) bool {
	n, ok := c.gauge(sample.CPUCount)
	if !ok || v.pid == 0 || c.w.Told {
		return false
	}
	all := n * c.w.Seconds()
	return v.cpu-v.stall >= allShare*all && v.user >= all/2
}

// allShare is the part of the processors' time from which on a program has all of
// it: the rest is the clock's and the kernel's own.
const allShare = 0.95

// inFlightOnly tells of a process that hardly ever blocks, and has I/O in flight
// that it may wait for all the same, in a call that waits for anything, as
// epoll_wait(2) does.
func (c *Case) inFlightOnly(v *victim) bool {
	return v.share(c.w.Seconds()) < waitShareLimit && c.inFlightShare(v) >= outstandingLimit
}

// inFlightShare is the part of the window, 0 to 1, in which a process may be held up by
// I/O in flight. Read-ahead holds nobody up: who has to wait for it is blocked.
// What it may cost is the work of fetching. Asynchronous I/O is waited for while
// the process does not run.
func (c *Case) inFlightShare(v *victim) float64 {
	o := min(1, v.outstanding)
	switch {
	case c.w.Told:
		return o
	case c.direct(v.pid) == 0 && !c.submits(v.pid):
		return min(o, c.fetching(v))
	case !c.w.Has(sample.WaitCompletions): // of an earlier version
		return o
	}
	return min(o, max(0, 1-(v.cpu+v.delay)/c.w.Seconds()))
}

// fetching is the part of a process's time on processors, 0 to 1, that the kernel
// spends for it on reads that bring pages from disk. A scan that read-ahead keeps
// ahead of does nothing else; a checksum of the same file computes.
func (c *Case) fetching(v *victim) float64 {
	e := sample.Entity{PID: v.pid}
	system, _ := c.w.Sum(sample.ProcSystem, e)
	misses, _ := c.w.Sum(sample.CacheMisses, e)
	accesses, _ := c.w.Sum(sample.CacheAccesses, e)
	if v.cpu == 0 || accesses == 0 {
		return 0
	}
	return clamp01(system / v.cpu * misses / accesses)
}

// submits tells whether a process reads through the cache with libaio or io_uring.
func (c *Case) submits(pid int) bool {
	for _, way := range []string{sample.ClassAIO, sample.ClassIOUring} {
		if n, _ := c.w.Sum(sample.CacheWayAccesses, sample.Entity{PID: pid, Class: way}); n > 0 {
			return true
		}
	}
	return false
}
