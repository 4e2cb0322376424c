package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// swapRateLimit is the pages a second, in and out, from which on swapping is
// thrashing: 1 MiB/s each way.
const swapRateLimit = 256

// swapThrash: anonymous pages go to swap and come back.
func swapThrash() Cause {
	return Cause{
		ID: SwapThrash, Title: "memory is swapped out and read back again and again",
		Needs: [][]sample.Metric{{sample.VMSwapIn}, {sample.VMSwapOut}},
		Over:  append(deviceCauses(), CacheBusting, CgroupCacheLimit, ColdCache, MetadataBound, ReadaheadWaste, ReclaimStall),
		Judge: func(c *Case) Verdict {
			in, ok1 := c.all(sample.VMSwapIn)
			out, ok2 := c.all(sample.VMSwapOut)
			if !ok1 || !ok2 {
				return cannotTell(c.w.WhyAbsent(sample.VMSwapIn))
			}
			s := c.w.Seconds()
			in, out = in/s, out/s
			if in < swapRateLimit || out < swapRateLimit {
				return no(fmt.Sprintf("swap in %.0f and out %.0f pages/s: not both above %d", in, out, swapRateLimit))
			}
			total := c.victim.waitTotal + c.victim.pause
			weight := 1.0 // of what it reads, where that is not known
			if c.w.Has(sample.BlockSwapIn) {
				weight = c.swapShare()
				if weight == 0 && c.suffers() {
					return no("the victim itself reads nothing from swap")
				}
				if weight < 0.3 && c.suffers() {
					return no("the victim reads more from files than from swap")
				}
			}
			if v := &c.victim; !c.neverBlocks() { // what it frees is what it swaps out
				weight = c.part(c.swapWait(weight) + v.stall)
			}
			e := []Evidence{
				c.figure("swapped in", in*pageSize, "bytes/s", sample.VMSwapIn),
				c.figure("swapped out", out*pageSize, "bytes/s", sample.VMSwapOut),
			}
			if total > 0 {
				e = append(e, c.partOf("time blocked in page faults", c.victim.shareOf(c.victim.wait[sample.ClassFault], s), sample.WaitIO))
			}
			if p := c.w.Get(sample.PSIFull, sample.Entity{Class: sample.ClassMemory}); p != nil {
				e = append(e, Evidence{Name: "memory pressure, full", Value: p.Sum() / s, Unit: "ratio", Source: p.Source})
			}
			k := c.victimCulprit()
			advice := c.promise(removal{sure: weight * c.waiting(), maybe: (1 - weight) * c.waiting(), kernel: true}).advise(
				"give the program the memory that it uses, or make it use less", "without swapping")
			if cg, usage, limit, ok := c.memoryLimit(); ok {
				k.Cgroup = cg
				e = append(e, c.figure("memory used by the cgroup", usage, "bytes", sample.CgroupMemUsage),
					c.figure("memory limit of the cgroup", limit, "bytes", sample.CgroupMemLimit))
				need := usage
				if swap, ok := c.w.Value(sample.ProcSwap, sample.Entity{PID: c.victim.pid}); ok {
					need += swap
				}
				advice.Do = fmt.Sprintf("raise the memory limit of the cgroup from %s to at least %s, or make the program use less", bytes(limit), bytes(need))
			} else if avail, ok := c.gauge(sample.MemAvailable); ok {
				e = append(e, c.figure("memory available", avail, "bytes", sample.MemAvailable))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence(min(in, out)/(10*swapRateLimit)+0.3, true), Weight: weight,
				Culprit: k, Evidence: e, Advice: []Advice{advice},
				Disprove: "pages are swapped out and not read back (swap-out without swap-in)",
			}
		},
	}
}
