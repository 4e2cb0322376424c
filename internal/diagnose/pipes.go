package diagnose

import (
	"strconv"

	"iocause/internal/sample"
)

const (
	// paceShare is the part of the window in which the slowest of a pipeline runs, or
	// waits for a processor: if it never had to wait for the others, the gain would be
	// less than anybody notices.
	paceShare = 0.92
	// passedShare is how much a process must read, at least, of what the one writes that
	// writes to it, for the pipe to be what that one works for.
	passedShare = 0.5
)

// followPipes has the slowest of a pipeline stand for all others in it. A pipeline is as
// fast as that one, and it computes all the time: what the others wait for is over before
// it could matter.
func (c *Case) followPipes() {
	next := c.pipelines()
	if len(next) == 0 {
		return
	}
	var asked []victim
	have := map[int]bool{}
	waits := map[int]float64{}
	c.paced = map[int]string{}
	for i := range c.asked {
		v := c.asked[i]
		if pid := c.slowest(v.pid, next); pid != v.pid {
			if v.blocked() >= max(waits[pid], waitShareLimit*c.w.Seconds()) {
				waits[pid], c.paced[pid] = v.blocked(), v.process.Comm
			}
			v = c.measure(pid)
		}
		if !have[v.pid] {
			have[v.pid] = true
			asked = append(asked, v)
		}
	}
	c.asked = asked
}

// pipelines are the processes that each one has at the other ends of its pipes.
func (c *Case) pipelines() map[int][]int {
	next := map[int][]int{}
	c.w.Each(sample.ProcFeeds, func(e sample.Entity, _ *sample.Series) {
		reader, err := strconv.Atoi(e.Class)
		if err != nil {
			return
		}
		wrote, _ := c.w.Sum(sample.ProcWriteChars, sample.Entity{PID: e.PID})
		read, _ := c.w.Sum(sample.ProcReadChars, sample.Entity{PID: reader})
		if wrote > 0 && read >= passedShare*wrote {
			next[e.PID], next[reader] = append(next[e.PID], reader), append(next[reader], e.PID)
		}
	})
	return next
}

// slowest is the process of a pipeline that computes all the time, with one thread; the
// process itself where there is none.
func (c *Case) slowest(pid int, next map[int][]int) int {
	seen := map[int]bool{}
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		e := sample.Entity{PID: at}
		user, _ := c.w.Sum(sample.ProcUser, e)
		system, _ := c.w.Sum(sample.ProcSystem, e)
		delay, _ := c.w.Sum(sample.ProcRunDelay, e)
		threads, _ := c.w.Value(sample.ProcThreads, e)
		if threads == 1 && user+system+delay >= paceShare*c.w.Seconds() {
			return at
		}
		todo = append(todo, next[at]...)
	}
	return pid
}
