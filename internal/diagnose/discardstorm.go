package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// discardStorm: discards keep the device busy that the victim waits for. A device may
// take long for one, and serve nothing else in the meantime.
func discardStorm() Cause {
	return Cause{
		ID: DiscardStorm, Title: "discards (TRIM) keep the device busy",
		Needs: [][]sample.Metric{{sample.BlockDeviceTime}, {sample.BlockDepthOps}},
		Over:  append(deviceCauses(), ColdCache, MetadataBound, CacheBusting, DirectIO, SyncWrites, JournalCommit, NoisyNeighbour, WritebackInterference),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldDiscards()
			}
			s := c.shared()
			switch {
			case c.w.Has(sample.BlockDeviceTime) && c.device != "" && c.suffers() && s.discards.ops == 0:
				return no("nobody discards anything on " + c.device)
			case s.missing:
				return cannotTell(s.why)
			case s.why != "":
				return no(s.why)
			case s.discards.time < s.others.time/2:
				return no(fmt.Sprintf("discards are %s of the time that others have requests in flight", percent(s.discards.time/s.others.time)))
			}
			seconds := c.w.Seconds()
			weight := c.blamed(&s) * s.discards.time / s.others.time
			k := c.discarder()
			return Verdict{
				Answer: Yes, Confidence: confidence((s.latency/s.base-queueingRatio)/3+0.2, true), Weight: weight, Culprit: k,
				Evidence: append(c.sharingEvidence(&s),
					c.figure("discards on "+c.device, s.discards.ops/seconds, "count/s", sample.BlockOps).as("discards"),
					c.figure("time of one discard", s.discards.time/s.discards.ops, "seconds", sample.BlockDeviceTime),
					c.figure("of the others', discards", s.discards.time/s.others.time, "ratio", sample.BlockDeviceTime)),
				Disprove: "the victim's requests take as long while nothing is discarded",
				Advice:   c.discardAdvice(&s, &k, c.promise(c.without(weight))),
			}
		},
	}
}

// discarder is the process that discards most on the victim's device.
func (c *Case) discarder() Culprit {
	by := map[int]float64{}
	for pid, ops := range c.loads() {
		if pid != c.victim.pid {
			by[pid] = ops[sample.ClassDiscard].time
		}
	}
	pid := most(by)
	p := c.w.Processes[pid]
	return Culprit{PID: pid, Comm: p.Comm, Cgroup: p.MemoryCgroup, Device: c.device}
}

// discardAdvice is what to change, by who discards: a file system that is mounted so
// does it all the time, a program when it is started.
func (c *Case) discardAdvice(s *sharing, k *Culprit, gain promise) []Advice {
	falls := fmt.Sprintf("requests of the victim fall from %s towards %s", duration(s.latency), duration(s.base))
	smaller := Advice{
		Do:     "or have discards made in smaller pieces",
		Expect: "other requests get in between; all discards together take longer",
	}
	if typeable(c.device) {
		smaller.Command = fmt.Sprintf("echo %d > /sys/block/%s/queue/discard_max_bytes", 1<<20, c.device)
	}
	if c.w.Processes[k.PID].Kernel {
		return []Advice{gain.advise("mount the file system without discard (mount -o remount,nodiscard), and run fstrim at a quiet time", falls), smaller}
	}
	return []Advice{gain.advise("run it at a quiet time (systemctl edit fstrim.timer), or on a part of the file system at a time (fstrim --offset, --length)", falls), smaller}
}
