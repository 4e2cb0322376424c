package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// reclaimStall: threads of the victim look for memory themselves (direct
// reclaim, compaction) instead of doing their work.
func reclaimStall() Cause {
	return Cause{
		ID: ReclaimStall, Title: "the program stalls while it frees memory itself (direct reclaim)",
		Needs: [][]sample.Metric{{sample.ReclaimTime}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldReclaim()
			}
			if !c.w.Has(sample.ReclaimTime) {
				return cannotTell(c.w.WhyAbsent(sample.ReclaimTime))
			}
			s, v := c.w.Seconds(), &c.victim
			if v.stall == 0 {
				return no("the victim never stalled in reclaim or compaction")
			}
			if v.stalled(s) < waitShareLimit {
				return no(fmt.Sprintf("the victim stalls in reclaim and compaction for only %s of its time", percent(v.stalled(s))))
			}
			if c.compacts() {
				return no(fmt.Sprintf("%s of the time that it stalls is compaction: there is memory, in small pieces", percent(c.of(sample.CompactTime)/v.stall)))
			}
			if in := c.of(sample.BlockSwapIn) / pageSize / s; in >= swapRateLimit {
				return no(fmt.Sprintf("what it frees is needed again: it reads %.0f pages/s from swap", in))
			}
			stalls := c.stalls(sample.ClassHost) + c.stalls(sample.ClassCgroup) + c.of(sample.CompactStalls)
			e := []Evidence{
				c.partOf("time stalled in reclaim and compaction", v.stalled(s), sample.ReclaimTime),
				c.figure("stalls", stalls/s, "count/s", sample.ReclaimStalls),
				c.figure("mean stall", v.stall/max(1, stalls), "seconds", sample.ReclaimTime),
			}
			if t := c.of(sample.CompactTime); t > 0 {
				e = append(e, c.figure("of that in compaction", t/v.stall, "ratio", sample.CompactTime))
			}
			if p := c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassMemory}); p != nil {
				e = append(e, Evidence{Name: "memory pressure, some", Value: p.Sum() / s, Unit: "ratio", Source: p.Source})
			}
			k, advice := c.victimCulprit(), []Advice(nil)
			inCgroup, _ := c.w.Sum(sample.ReclaimTime, sample.Entity{PID: v.pid, Class: sample.ClassCgroup})
			cg, usage, limit, limited := c.memoryLimit()
			gain := c.promise(removal{sure: v.stall, maybe: v.waitTotal + v.pause, kernel: true})
			if limited && inCgroup >= 0.5*v.stall {
				k.Cgroup = cg
				e = append(e, c.figure("memory used by the cgroup", usage, "bytes", sample.CgroupMemUsage),
					c.figure("memory limit of the cgroup", limit, "bytes", sample.CgroupMemLimit))
				advice = append(advice, gain.advise(
					fmt.Sprintf("raise the memory limit of the cgroup above %s, or make its programs use less", bytes(limit)),
					"free pages are then available when they are needed"))
			} else {
				if avail, ok := c.gauge(sample.MemAvailable); ok {
					e = append(e, c.figure("memory available", avail, "bytes", sample.MemAvailable))
				}
				advice = append(advice, gain.advise(
					"let the kernel reclaim earlier (raise vm.watermark_scale_factor or vm.min_free_kbytes), or use less memory",
					"kswapd then frees pages in the background"))
			}
			if dirtied, written := c.of(sample.CacheDirtied), c.of(sample.CacheWriteAlloc); dirtied > 0 && written >= 0.5*c.of(sample.CacheInserted) {
				e = append(e, c.figure("pages made dirty", dirtied/s, "pages/s", sample.CacheDirtied))
				advice = append(advice, Advice{
					Do:     "or write dirty pages out sooner (sync_file_range, or vm.dirty_background_bytes well below the limit)",
					Expect: "clean pages can be dropped at once, dirty ones must be written to the device first",
				})
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((v.stalled(s)-waitShareLimit)/0.4+0.3, true),
				Weight: c.part(v.stall), Culprit: k, Evidence: e, Advice: advice,
				Disprove: "the speed stays the same with so much free memory that nothing is reclaimed",
			}
		},
	}
}

// stalls counts the victim's stalls in direct reclaim.
func (c *Case) stalls(class string) float64 {
	n, _ := c.w.Sum(sample.ReclaimStalls, sample.Entity{PID: c.victim.pid, Class: class})
	return n
}
