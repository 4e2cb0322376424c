package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// syncWrites: the program waits until its writes, or the journal, are on the
// device.
func syncWrites() Cause {
	return Cause{
		ID: "sync-writes", Title: "the program waits for its writes to reach the device (fsync)",
		Needs: [][]sample.Metric{{sample.WaitIO}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.WaitIO) {
				return cannotTell(c.w.WhyAbsent(sample.WaitIO))
			}
			wait, total := c.victim.wait["sync"], c.victim.waitTotal+c.victim.pause
			if !c.suffers() {
				return no("nobody waits for I/O long enough to matter")
			}
			if wait < 0.3*total || total == 0 {
				return no(fmt.Sprintf("the victim waits in fsync and its kin for %s of its waiting time", percent(wait/max(total, 1e-9))))
			}
			s := c.w.Seconds()
			e := []Evidence{
				c.figure("time blocked in fsync, fdatasync, msync", wait/(s*max(1, c.victim.threads)), "ratio", sample.WaitIO),
			}
			for _, op := range []string{"flush", "write"} {
				key := sample.Entity{Device: c.device, Class: op}
				if n, ok := c.w.Sum(sample.BlockOps, key); ok && n > 0 {
					e = append(e, c.figure(op+" requests to "+c.device, n/s, "count/s", sample.BlockOps))
					if t, ok := c.w.Sum(sample.BlockDeviceTime, key); ok {
						e = append(e, c.figure("time of one "+op, t/n, "seconds", sample.BlockDeviceTime))
					}
				}
			}
			k := c.culprit()
			if f := c.topFile(sample.CacheDirtied); f != "" {
				k.File = f
			}
			return Verdict{
				Answer: Yes, Confidence: confidence(wait/total, true), Weight: c.part(wait), Culprit: k, Evidence: e,
				Disprove: "the same speed with the syncs left out on a copy",
				Advice: []Advice{{
					Do:     "sync less often: commit in groups, or write several records before one fdatasync",
					Expect: "half the syncs, half this waiting; without them " + speedup(c.gain()),
				}, {
					Do:     "or put the log on a device with a lower flush time (power-loss protected cache)",
					Expect: "waiting falls with the time of one flush",
				}},
			}
		},
	}
}
