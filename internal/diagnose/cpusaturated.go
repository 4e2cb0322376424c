package diagnose

import (
	"fmt"
	"math"

	"iocause/internal/sample"
)

// queueShareLimit is the part of the time that a program wants to run and has
// to wait for a processor from which on that is what slows it down. Two busy
// threads on one processor each wait half of the time.
const queueShareLimit = 0.30

// fewBusy is how many processors must be busy all the time for anybody to wait
// for one: below that nobody is in the way, and a thread that sleeps and wakes a
// thousand times a second waits each time for an idle processor to wake up.
const fewBusy = 0.9

// idleLimit is the part of the processors' time that nobody used from which on
// nobody waits for want of them. Who waits all the same waits for an idle one to
// wake up, or behind the thread that woke it, as threads do that hand a lock or a
// request to one another.
const idleLimit = 0.10

// queued is the part of the time that the victim could have run and waited
// for a processor, 0 to 1.
func (v *victim) queued() float64 {
	if v.cpu+v.delay == 0 {
		return 0
	}
	return v.delay / (v.cpu + v.delay)
}

// queuesMore tells whether queueing for a processor takes more of a thread's time than
// what it waits for. Where most threads wait, or one begins when the one before has
// ended, those that queue are the same ones. Else threads that help out queue, too, and
// hold nobody up: then it is what a thread queues on average of all that ran, beside what
// those that wait do. So it is where threads commit by turns: what they sleep until it is
// their turn is in no sum. Not known where waiting is known by process only.
func (c *Case) queuesMore() bool {
	v, s := &c.victim, c.w.Seconds()
	switch {
	case v.spans == nil || v.spans.alike:
		return false
	case v.row || (2*v.spans.held >= v.spans.ran || 2*v.waiting() >= v.spans.awake) && v.commitsByTurns(s) == 0:
		return v.delay > v.waitIO()+v.lock
	}
	return v.delay/(s*min(max(1, v.spans.ran), max(1, busyPart*v.spans.awake/s))) > v.share(s)
}

// busyPart is what part of the window a thread must be awake, on average, to count among
// those that ran: of a pool that woke up once each nobody queues.
const busyPart = 10

// waiting is the seconds that the threads which wait are awake, those weighed most that
// wait most.
func (v *victim) waiting() float64 {
	if v.spans.weighted <= 0 {
		return 0
	}
	return v.blocked() * v.blocked() / v.spans.weighted
}

// queueing is the seconds that a process waits for a processor, where that is
// enough to slow it down, else 0: of all that are not held up by I/O it is the one
// to ask about, and not the one that has the processor.
func (c *Case) queueing(v *victim) float64 {
	if v.delay < waitShareLimit*c.w.Seconds() {
		return 0
	}
	if v.queued() < queueShareLimit || c.idleBeside(v) > 0 {
		if _, holds := c.quota(v); !holds {
			return 0
		}
	}
	return v.delay
}

// cpuSaturated: the program is ready to run and waits for a processor.
func cpuSaturated() Cause {
	return Cause{
		ID: CPUSaturated, Title: "runnable threads wait for a processor",
		Needs: [][]sample.Metric{{sample.ProcRunDelay}},
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.ProcRunDelay) {
				return cannotTell(c.w.WhyAbsent(sample.ProcRunDelay))
			}
			s, v := c.w.Seconds(), &c.victim
			switch held := v.waitIO() + v.lock; {
			case v.pid == 0:
				return no("no process used the processor")
			case v.delay < waitShareLimit*s:
				return no("the victim waits for a processor " + percent(v.delay/s) + " of the time")
			case c.held() && v.delay < 2*held && !(v.delay > held && c.queuesMore()): // threads that help out queue, too, and hold nobody up
				return no(fmt.Sprintf("the victim waits %s for I/O, memory and locks, and only %s for a processor", duration(held), duration(v.delay)))
			}
			if q, holds := c.quota(&c.victim); holds {
				return c.overQuota(&q)
			}
			if n, _ := c.byTurns(); n > 0 {
				return no("its threads compute by turns, one at a time, and those that wake up to ask for their turn wait for a processor")
			}
			if c.callsFill() {
				return no("its own tiny calls keep the processors busy: with larger ones hardly any of its threads would wait for one")
			}
			if v.queued() < queueShareLimit {
				return no("of the time it was runnable, the victim waits for a processor only " + percent(v.queued()))
			}
			if busy, ok := c.busyProcessors(); ok && busy < fewBusy {
				return no(fmt.Sprintf("only %.2g processors were busy: it waits for idle ones to wake up", busy))
			}
			allowed, pinned := c.allowed(v)
			if idle := c.othersIdle(); idle > 0 {
				return no(fmt.Sprintf("processors were idle %s of the time: it waits for one to wake up, or for the thread that woke it", percent(idle)))
			}
			e := []Evidence{
				c.figure("threads waiting for a processor", v.delay/s, "count", sample.ProcRunDelay),
				c.figure("of its time that it could run", v.queued(), "ratio", sample.ProcRunDelay),
				c.onProcessors("time on a processor", v.cpu/s).as("time-on-a-processor"),
			}
			e = append(e, c.processors()...)
			if pinned {
				e = append(e, c.figure("processors that it may run on", allowed, "count", sample.ProcProcessors))
			}
			k := c.atProcessor()
			rival, used, takes := c.busiestOther()
			idle, _ := c.idleProcessors()
			spare := idle + c.ofProcessors(c.nicer()) // it could have all but a little of what these use
			elsewhere := pinned && spare >= idleLimit
			promise := c.promise(removal{sure: v.delay, queue: true, more: !elsewhere})
			advice := promise.advise("give it more processors, or less to do at once", "with a processor for every runnable thread")
			switch stolen, _ := c.all(sample.CPUSteal); {
			case stolen > max(takes, v.cpu):
				k = Culprit{} // it is none of this machine
				advice.Do = fmt.Sprintf("the hypervisor gives %.2g of this machine's processors to other guests: get dedicated processors, or move to another host", stolen/s)
			case takes > v.cpu:
				p := c.w.Processes[rival]
				k = Culprit{PID: rival, Comm: p.Comm, Cgroup: p.MemoryCgroup}
				e = append(e, c.onProcessors("time on a processor of the culprit", used/s).as("time-on-a-processor-of-the-culprit"))
				advice.Do = "give the victim a larger share of the processors (cpu.weight, nice), or run the other program elsewhere"
			}
			if elsewhere {
				k = c.atProcessor()
				why := fmt.Sprintf("the others were idle %s of the time", percent(idle))
				if idle < idleLimit {
					why = "the others were busy with threads of lower priority"
				}
				advice = promise.advise(fmt.Sprintf("let it run on more than %s (taskset, cpuset): %s", sample.Counted(allowed, "processor"), why), "on all processors of this machine")
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((v.queued()-queueShareLimit)/0.3+0.3, v.known),
				Weight: v.delay / (v.delay + v.waitIO() + v.lock), Culprit: k, Evidence: e, Advice: []Advice{advice},
				Disprove: "the speed stays the same with a processor for every runnable thread",
			}
		},
	}
}

// ticksLimit is the part of the processors' time that must be accounted for. Busy time is
// counted by ticks, of which a machine that gets too little of its host's processors
// misses most, if the host does not say what it took; idle time is measured.
const ticksLimit = 0.8

// busyProcessors is how many were busy, or taken by the hypervisor, on average: where
// ticks are missing, those that were not idle.
func (c *Case) busyProcessors() (n float64, known bool) {
	user, ok := c.all(sample.CPUUser)
	system, _ := c.all(sample.CPUSystem)
	steal, _ := c.all(sample.CPUSteal)
	unused, counted := c.unusedProcessors()
	busy := (user + system + steal) / c.w.Seconds()
	if all, is := c.gauge(sample.CPUCount); is && counted && busy+unused < ticksLimit*all {
		busy = all - unused
	}
	return busy, ok
}

// unusedProcessors is how many nobody used, on average.
func (c *Case) unusedProcessors() (n float64, known bool) {
	idle, known := c.all(sample.CPUIdle)
	wait, _ := c.all(sample.CPUIOWait)
	return (idle + wait) / c.w.Seconds(), known
}

// othersIdle is idleBeside of the victim.
func (c *Case) othersIdle() float64 { return c.idleBeside(&c.victim) }

// idleBeside is the part of the processors' time that was idle while a process
// could have had it, where that is enough for its waiting to be for something
// else, else 0.
func (c *Case) idleBeside(v *victim) float64 {
	_, pinned := c.allowed(v)
	if idle, ok := c.idleProcessors(); ok && idle >= idleLimit && !pinned {
		return idle
	}
	return 0
}

// allowed is how many processors a process may run on, where these are not all.
func (c *Case) allowed(v *victim) (n float64, pinned bool) {
	return c.w.Value(sample.ProcProcessors, sample.Entity{PID: v.pid})
}

// idleProcessors is the part of the processors' time that nobody used, 0 to 1, that
// with I/O under way included.
func (c *Case) idleProcessors() (share float64, known bool) {
	_, ok := c.busyProcessors()
	unused, counted := c.unusedProcessors()
	return c.ofProcessors(unused), ok && counted
}

// ofProcessors is so many processors as a share of all, 0 to 1.
func (c *Case) ofProcessors(n float64) float64 {
	busy, _ := c.busyProcessors()
	unused, _ := c.unusedProcessors()
	return n / max(busy+unused, 1e-9)
}

// processors is how busy the host's are.
func (c *Case) processors() []Evidence {
	var e []Evidence
	user, ok := c.all(sample.CPUUser)
	system, _ := c.all(sample.CPUSystem)
	idle, _ := c.all(sample.CPUIdle)
	wait, _ := c.all(sample.CPUIOWait)
	steal, _ := c.all(sample.CPUSteal)
	if whole := user + system + idle + wait + steal; ok && whole > 0 {
		e = append(e, c.figure("processors busy", (user+system)/whole, "ratio", sample.CPUUser))
		if steal > 0.05*whole {
			e = append(e, c.figure("taken by the hypervisor", steal/whole, "ratio", sample.CPUSteal))
		}
	}
	if p := c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassCPU}); p != nil {
		e = append(e, Evidence{Name: "processor pressure, some", Value: p.Sum() / c.w.Seconds(), Unit: "ratio", Source: p.Source})
	}
	return e
}

// niceStep is by how much more of a processor a thread gets than one whose nice value is
// one more (sched_prio_to_weight in kernel/sched/core.c).
const niceStep = 1.25

// busiestOther is the process besides the victim that takes most of the processors from
// it, for how many seconds it used them, and how many of these the victim could not have
// had: who has a lower priority gives way.
func (c *Case) busiestOther() (pid int, used, takes float64) {
	seconds, taken := map[int]float64{}, map[int]float64{}
	own, _ := c.w.Value(sample.ProcNice, sample.Entity{PID: c.victim.pid}) // absent where it is 0
	for _, m := range []sample.Metric{sample.ProcUser, sample.ProcSystem} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != c.victim.pid {
				nice, _ := c.w.Value(sample.ProcNice, sample.Entity{PID: e.PID})
				seconds[e.PID] += s.Sum()
				taken[e.PID] += s.Sum() * math.Pow(niceStep, min(0, own-nice))
			}
		})
	}
	pid = most(taken)
	return pid, seconds[pid], taken[pid]
}
