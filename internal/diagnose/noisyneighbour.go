package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// noisyNeighbour: another process keeps the device busy that the victim waits
// for.
func noisyNeighbour() Cause {
	return Cause{
		ID: NoisyNeighbour, Title: "another program keeps the device busy",
		Needs: [][]sample.Metric{{sample.BlockDeviceTime}, {sample.BlockDepthOps}},
		Over:  append(deviceCauses(), ColdCache, MetadataBound, CacheBusting, DirectIO, SyncWrites),
		Judge: func(c *Case) Verdict {
			s := c.shared()
			switch {
			case s.missing && c.w.Told:
				return c.toldNeighbour(s.why)
			case s.missing:
				return cannotTell(s.why)
			case s.why != "":
				return no(s.why)
			case s.discards.time >= s.others.time/2:
				return no("most of what others have in flight are discards")
			case s.flusher.part(&s.others) > s.rivals.part(&s.others):
				return no("most of what others have in flight is the kernel's writeback, not another program's I/O")
			}
			seconds := c.w.Seconds()
			p := c.w.Processes[s.rival]
			k := Culprit{PID: s.rival, Comm: p.Comm, Cgroup: p.IOCgroup, Device: c.device}
			if k.Cgroup == "" || k.Cgroup == "/" {
				k.Cgroup = p.MemoryCgroup
			}
			c.at(&k, c.fileOf(s.rival, c.device))
			e := append(c.sharingEvidence(&s), c.figure("of the others' bytes, the culprit's", s.most.bytes/max(s.others.bytes, 1), "ratio", sample.BlockBytes))
			if s.together > 1 {
				e = append(e, c.figure("processes that the culprit is", float64(s.together), "count", sample.BlockBytes))
			}
			for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
				if b, _ := c.w.Sum(sample.BlockBytes, sample.Entity{PID: s.rival, Device: c.device, Class: op}); b > 0 {
					e = append(e, c.figure("the culprit's "+op+"s", b/seconds, "bytes/s", sample.BlockBytes).as("bytes-of-the-culprit"))
				}
			}
			conf := confidence((s.latency/s.base-queueingRatio)/3+0.2, true) * (0.7 + 0.3*s.most.part(&s.rivals))
			if s.bound {
				conf *= 0.9
			}
			weight := c.blamed(&s)
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: weight, Culprit: k, Evidence: e,
				Disprove: "the victim's requests take as long while the other program is stopped",
				Advice: []Advice{c.promise(c.without(weight)).advise(
					"throttle the other program (io.max or io.weight of its cgroup, ionice, fewer requests at a time), or run it at another time",
					fmt.Sprintf("requests of the victim fall from %s towards %s", duration(s.latency), duration(s.base)),
				), {
					Do:     "or put the data of one of them on another device",
					Expect: "they then no longer slow each other down",
				}},
			}
		},
	}
}
