package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// When a processor limit is what holds a program back: it runs into the limit
// in that part of its periods, and waits that part of the time that it could
// run. A pool of threads may run into it now and then and lose nothing.
const (
	quotaPeriods = 0.10
	quotaQueued  = 0.10
)

// cpuQuota is the processor limit, of the victim's cgroup or one above, that
// stops it most often.
type cpuQuota struct {
	cgroup    string
	limit     float64 // processors
	periods   float64 // in which it ran
	throttled float64 // of these, in which the limit was reached, 0 to 1
}

// quota finds that of a process, and whether it holds the process back.
func (c *Case) quota(v *victim) (q cpuQuota, holds bool) {
	own := v.process.CPUCgroup
	if own == "" {
		return q, false
	}
	c.w.Each(sample.CgroupThrottled, func(e sample.Entity, s *sample.Series) {
		periods, ok := c.w.Sum(sample.CgroupPeriods, e)
		limit, limited := c.w.Value(sample.CgroupCPUQuota, e)
		if !inCgroup(own, e.Cgroup) || !ok || periods <= 0 || !limited {
			return
		}
		if share := min(1, s.Sum()/periods); q.cgroup == "" || share > q.throttled {
			q = cpuQuota{cgroup: e.Cgroup, limit: limit, periods: periods, throttled: share}
		}
	})
	return q, q.throttled >= quotaPeriods && v.queued() >= quotaQueued && v.delay >= waitShareLimit*c.w.Seconds()
}

// overQuota is the verdict that a cgroup's limit stops the victim.
func (c *Case) overQuota(q *cpuQuota) Verdict {
	v, s := &c.victim, c.w.Seconds()
	file := c.w.Source(sample.CgroupCPUQuota)
	held, _ := c.w.Sum(sample.CgroupCPUHeld, sample.Entity{Cgroup: q.cgroup})
	e := []Evidence{
		c.figure("periods in which the cgroup ran into its limit", q.throttled, "ratio", sample.CgroupThrottled),
		c.figure("limit of the cgroup, in processors", q.limit, "count", sample.CgroupCPUQuota),
		c.figure("its threads stopped, all processors", held/s, "ratio", sample.CgroupCPUHeld),
		c.figure("threads waiting for a processor", v.delay/s, "count", sample.ProcRunDelay),
		c.figure("of its time that it could run", v.queued(), "ratio", sample.ProcRunDelay),
		c.onProcessors("time on a processor", v.cpu/s).as("time-on-a-processor"),
	}
	k := c.atProcessor()
	k.Cgroup = q.cgroup
	return Verdict{
		Answer: Yes, Confidence: confidence((q.throttled-quotaPeriods)/0.3+0.3, v.known),
		Weight: v.delay / (v.delay + v.waitIO() + v.lock), Culprit: k, Evidence: append(e, c.processors()...),
		Disprove: "the speed stays the same after the limit is removed",
		Advice: []Advice{c.promise(removal{sure: v.delay, queue: true}).advise(
			fmt.Sprintf("raise the cgroup's CPU limit (%s), or replace it by a weight, or run fewer threads in the cgroup", file),
			fmt.Sprintf("it reaches the limit of %.3g processors in %s of its periods; without waiting for a processor it would be",
				q.limit, percent(q.throttled)))},
	}
}
