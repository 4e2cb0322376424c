package diagnose

import "iocause/internal/sample"

// cpuBound: the program computes; I/O is not what takes its time.
func cpuBound() Cause {
	return Cause{
		ID: CPUBound, Title: "the program computes: I/O is not what takes the time",
		Needs: [][]sample.Metric{{sample.ProcUser}},
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.ProcUser) {
				return cannotTell(c.w.WhyAbsent(sample.ProcUser))
			}
			if c.suffers() {
				return no("the victim waits for I/O " + percent(c.victim.share(c.w.Seconds())) + " of its time")
			}
			if c.contended(&c.victim) > 0 {
				return no("the victim waits for locks " + percent(c.victim.locked(c.w.Seconds())) + " of its time")
			}
			if c.held() {
				return no("the victim stalls in memory reclaim " + percent(c.victim.stalled(c.w.Seconds())) + " of its time")
			}
			if c.victim.pid == 0 {
				return no("no process used the processor")
			}
			if n, _ := c.byTurns(); n > 0 {
				return no("its threads compute by turns, one at a time, while processors could be had")
			}
			if c.polls() != "" {
				return cannotTell("it may poll for its I/O")
			}
			s := c.w.Seconds()
			cpu := c.victim.cpu / s
			delay, delayed := c.w.Sum(sample.ProcRunDelay, sample.Entity{PID: c.victim.pid})
			// what waits for a processor would compute if it had one
			if cpu+delay/s < cpuShareLimit {
				return no("no process keeps even one processor busy: the busiest uses " + percent(cpu) + " of one")
			}
			if c.victim.queued() >= queueShareLimit && delay >= waitShareLimit*s && c.othersIdle() == 0 {
				return no("it computes only " + percent(1-c.victim.queued()) + " of the time that it could: it waits for a processor")
			}
			if q, holds := c.quota(&c.victim); holds {
				return no("the processor limit of its cgroup stops it in " + percent(q.throttled) + " of the periods")
			}
			if !c.victim.known && c.blind() {
				return cannotTell(c.w.WhyAbsent(sample.WaitIO))
			}
			e := []Evidence{
				c.onProcessors("time on a processor", cpu).as("time-on-a-processor"),
				c.figure("of that in the kernel", c.of(sample.ProcSystem)/max(c.victim.cpu, 1e-9), "ratio", sample.ProcSystem),
			}
			if c.victim.known {
				m := sample.WaitIO
				if !c.w.Has(m) {
					m = sample.ProcBlkioDelay
				}
				if c.hasAll(&c.victim) {
					e = append(e, c.figure("threads blocked on I/O meanwhile", c.victim.waitTotal/s, "count", m))
				} else {
					e = append(e, c.figure("time blocked on I/O", c.victim.share(s), "ratio", m))
				}
			}
			if delayed {
				e = append(e, c.figure("time waiting for a processor", delay/s, "ratio", sample.ProcRunDelay))
			}
			do := "see where the program spends its processor time (perf top -p PID); a faster device would not help"
			if who, is := c.paced[c.victim.pid]; is {
				do += ": " + who + ", in the same pipeline, waits for I/O while this one computes"
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((cpu+delay/s-cpuShareLimit)/0.15+0.2, c.victim.known),
				Weight: c.victim.cpu / c.victim.awake(), WeightOf: OfTime,
				Culprit: c.atProcessor(), Evidence: e,
				Disprove: "threads of the program blocked on I/O for a tenth of their time or more",
				Advice:   []Advice{c.working(promise{high: c.victim.awake() / c.victim.cpu}).advise(do, "without any wait it would be")},
			}
		},
	}
}
