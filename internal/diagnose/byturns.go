package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

const (
	// leastLooks is how many looks it takes to tell that threads compute by turns.
	leastLooks = 16
	// turnsShare is the part of the looks that must have found one thread running and
	// all others waiting for it. A look is not of one instant, some fall into a change
	// of turns, and who waits wakes up to ask: with four threads of Python 0.8 are found.
	turnsShare = 0.60
	// restsShare is the part of the looks that may have found none running: with turns
	// it is hardly any. Of threads that are independent of each other and take one
	// processor together, none runs in a quarter of the time at least.
	restsShare = 0.10
)

// byTurns tells how many threads of the victim compute by turns while more of the
// processors could be had, for a lock of the program lets one at a time, and in what part
// of the looks that was seen; 0 threads where they do not.
func (c *Case) byTurns() (threads, share float64) {
	v := &c.victim
	e := sample.Entity{PID: v.pid}
	looks, _ := c.w.Sum(sample.ProcLooks, e)
	turns, _ := c.w.Sum(sample.ProcTurns, e)
	idle, _ := c.w.Sum(sample.ProcLooks, sample.Entity{PID: v.pid, Class: sample.ClassResting})
	n, _ := c.w.Value(sample.ProcTurnThreads, e)
	if looks < leastLooks || turns < turnsShare*looks || idle > restsShare*looks || n < 2 || v.several > 1 {
		return 0, 0
	}
	busy, counted := c.busyProcessors()
	unused, known := c.unusedProcessors()
	if !known || !counted || c.couldHave(n)-1 < idleLimit*(busy+unused) || c.suffers() {
		return 0, 0
	}
	return n, turns / looks
}

// couldHave is how many processors so many threads of the victim would have if they did
// not compute by turns: the one that they have, and what is idle or used by threads of
// lower priority; or, if that is more, their part of what the processes of its cgroup
// use. Those of other cgroups keep what they have: their weights decide.
func (c *Case) couldHave(threads float64) float64 {
	unused, _ := c.unusedProcessors()
	free := 1 + unused + c.nicer()
	used, wanted := c.besideInCgroup()
	shared := threads * (free + used) / (threads + wanted)
	return min(threads, max(free, shared))
}

// besideInCgroup is how many processors other processes of the victim's cgroup use, and
// how many threads of theirs use or wait for one, on average. Threads of lower priority
// are not among them.
func (c *Case) besideInCgroup() (used, wanted float64) {
	own := c.w.Processes[c.victim.pid].MemoryCgroup
	for _, m := range []sample.Metric{sample.ProcUser, sample.ProcSystem, sample.ProcRunDelay} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			nice, _ := c.w.Value(sample.ProcNice, sample.Entity{PID: e.PID})
			p, known := c.w.Processes[e.PID]
			if e.PID == c.victim.pid || !known || p.MemoryCgroup != own || nice > 0 {
				return
			}
			if wanted += s.Sum(); m != sample.ProcRunDelay {
				used += s.Sum()
			}
		})
	}
	return used / c.w.Seconds(), wanted / c.w.Seconds()
}

// nicer is how many processors threads of a lower priority than the victim's used: it
// could have most of that. 0 where its own is lowered.
func (c *Case) nicer() float64 {
	if own, _ := c.w.Value(sample.ProcNice, sample.Entity{PID: c.victim.pid}); own > 0 {
		return 0
	}
	seconds, _ := c.all(sample.CPUNice)
	return seconds / c.w.Seconds()
}

// oneAtATime is the finding about a program whose threads compute by turns while
// processors could be had. ok is false for any other.
func (c *Case) oneAtATime() (Verdict, bool) {
	n, share := c.byTurns()
	if n == 0 {
		return Verdict{}, false
	}
	e := []Evidence{
		c.figure("threads that compute by turns", n, "count", sample.ProcTurns).as("threads-by-turns"),
		c.figure("looks in which one ran and the others waited", share, "ratio", sample.ProcTurns).as("looks-with-one-running"),
		c.onProcessors("time on a processor", c.victim.cpu/c.w.Seconds()).as("time-on-a-processor"),
	}
	e = append(e, c.processors()...)
	most := c.couldHave(n)
	return Verdict{
		Answer: Yes, Confidence: confidence((share-turnsShare)/0.3+0.4, true),
		Weight: clamp01(1 - 1/most), WeightOf: OfTime, Culprit: c.atProcessor(), Evidence: e,
		Disprove: "one thread alone does the same work in less time than all of them",
		Advice: []Advice{promise{high: most}.advise(
			"use processes in place of threads: the program lets one thread at a time compute, as the global lock of Python's or Ruby's interpreter does (multiprocessing, more workers with one thread each, an interpreter without that lock)",
			fmt.Sprintf("%s compute by turns now, while more processors could be had", sample.Counted(n, "thread")))},
	}, true
}
