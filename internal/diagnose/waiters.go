package diagnose

import (
	"cmp"
	"slices"

	"iocause/internal/sample"
)

// Waiter is a program that was held up, alone or as several processes of the same
// name in the same cgroup: each of two hundred mailers may wait for little, and
// all together for long.
type Waiter struct {
	Who       Culprit  `json:"who"`              // of several processes, the one that waited longest
	Processes int      `json:"processes"`        // that waited
	Seconds   float64  `json:"seconds"`          // held up, summed over threads
	Share     float64  `json:"share"`            // of the time that they were awake, 0 to 1
	Waiting   float64  `json:"waiting"`          // threads held up at any time, on average
	Threads   float64  `json:"threads"`          // of how many, 0 where that is not known
	In        []WaitIn `json:"in"`               // the longest first
	Kernel    bool     `json:"kernel,omitempty"` // a kernel thread
}

// WaitIn is a part of what a program was held up in.
type WaitIn struct {
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
}

// What a waiter is held up in besides the classes of wait.io, in WaitIn.
const (
	InPause  = "dirty pause"
	InMemory = "memory"
	InLock   = "lock"
)

const (
	mostWaiters = 5
	// leastWaiting is the share of the window from which on a program is listed as
	// a waiter: less is of no use to anybody who looks for time.
	leastWaiting = 0.001
)

// in is what a process was held up in, in seconds.
func (v *victim) in() map[string]float64 {
	out := map[string]float64{InPause: v.pause, InMemory: v.stall, InLock: v.lock}
	for class, t := range v.wait {
		out[class] += t
	}
	return out
}

// waiter is one process as a waiter.
func (c *Case) waiter(v *victim) Waiter {
	threads, _ := c.w.Value(sample.ProcThreads, sample.Entity{PID: v.pid})
	t := v.waitIO() + v.lock
	out := Waiter{
		Who:       Culprit{PID: v.pid, Comm: v.process.Comm, Cgroup: v.process.MemoryCgroup},
		Processes: max(1, v.several), Seconds: t, Threads: threads, Kernel: v.process.Kernel,
	}
	if s := c.w.Seconds(); s > 0 {
		out.Waiting = t / s
	}
	if awake := v.notResting(); awake > 0 {
		out.Share = min(1, t/awake)
	}
	out.In = waitsIn(v.in())
	return out
}

// notResting is the time, in seconds summed over threads, that a process runs or is
// held up: that of each thread where it was accounted, which has processes that
// have ended, too.
func (v *victim) notResting() float64 {
	if v.spans == nil {
		return v.awake()
	}
	return max(v.awake(), v.spans.awake+v.async+v.lock)
}

// waitsIn are the parts that matter, the longest first.
func waitsIn(by map[string]float64) []WaitIn {
	out := []WaitIn{}
	for what, t := range by {
		if t > 0 {
			out = append(out, WaitIn{What: what, Seconds: t})
		}
	}
	slices.SortFunc(out, func(a, b WaitIn) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.What, b.What))
	})
	return out
}

// waiters are the programs asked about that were held up longest in all, at most
// mostWaiters. Processes are put together by name and cgroup.
func (c *Case) waiters() []Waiter {
	type sum struct {
		first victim // who waited longest
		all   Waiter
		awake float64
		in    map[string]float64
	}
	by := map[program]*sum{}
	for i := range c.asked {
		v := &c.asked[i]
		one := c.waiter(v)
		if one.Seconds <= 0 {
			continue
		}
		key := program{v.process.Comm, v.process.MemoryCgroup}
		s := by[key]
		if s == nil {
			s = &sum{first: *v, in: map[string]float64{}}
			by[key] = s
		}
		if longest := s.first.waitIO() + s.first.lock; one.Seconds > longest || one.Seconds == longest && v.pid < s.first.pid {
			s.first = *v
		}
		s.all.Processes += one.Processes
		s.all.Seconds += one.Seconds
		s.all.Threads += one.Threads
		s.awake += v.notResting()
		for what, t := range v.in() {
			s.in[what] += t
		}
	}
	var out []Waiter
	for _, s := range by {
		if s.all.Seconds < leastWaiting*c.w.Seconds() {
			continue
		}
		one := c.waiter(&s.first)
		one.Processes, one.Seconds, one.Threads = s.all.Processes, s.all.Seconds, s.all.Threads
		one.Waiting, one.In = s.all.Seconds/c.w.Seconds(), waitsIn(s.in)
		if s.awake > 0 {
			one.Share = min(1, s.all.Seconds/s.awake)
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Waiter) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Who.PID, b.Who.PID))
	})
	return out[:min(len(out), mostWaiters)]
}
