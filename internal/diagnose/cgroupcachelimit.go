package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// cgroupCacheLimit: a cgroup's memory limit keeps its cache small while the
// host has memory left.
func cgroupCacheLimit() Cause {
	return Cause{
		ID: "cgroup-cache-limit", Title: "a cgroup's memory limit caps its page cache",
		Needs: [][]sample.Metric{{sample.CacheCold, sample.ProcReadBytes}, {sample.CgroupMemUsage}, {sample.CgroupRefault, sample.CacheReread}},
		Over:  append(deviceCauses(), "cache-busting", "cold-cache", "reclaim-stall"),
		Judge: func(c *Case) Verdict {
			v := c.cache()
			if !v.known {
				return cannotTell(v.why)
			}
			if why := c.readsMatter(&v); why != "" {
				return no(why)
			}
			if c.untold() {
				return cannotTell(c.w.WhyAbsent(sample.CgroupMemLimit))
			}
			if v.refault < refaultLimit {
				return no(fmt.Sprintf("only %s of the pages read had been evicted before", percent(v.refault)))
			}
			if !c.w.Has(sample.CgroupMemUsage) {
				return cannotTell(c.w.WhyAbsent(sample.CgroupMemUsage))
			}
			cg, usage, limit, ok := c.memoryLimit()
			if !ok {
				return no("no memory limit of the victim's cgroups is reached")
			}
			avail, has := c.gauge(sample.MemAvailable)
			if !has {
				return cannotTell(c.w.WhyAbsent(sample.MemAvailable))
			}
			if total, ok := c.gauge(sample.MemTotal); ok && avail < 0.05*total {
				return no("the host has no memory left either: raising the limit would not help")
			}
			k := c.culprit()
			k.Cgroup = cg
			e := append(c.cacheEvidence(&v),
				c.figure("memory used by the cgroup", usage, "bytes", sample.CgroupMemUsage),
				c.figure("memory limit of the cgroup", limit, "bytes", sample.CgroupMemLimit),
				c.figure("memory available on the host", avail, "bytes", sample.MemAvailable))
			if hits, ok := c.w.Sum(sample.CgroupLimitHits, sample.Entity{Cgroup: cg}); ok {
				e = append(e, c.figure("times the limit was hit", hits/c.w.Seconds(), "count/s", sample.CgroupLimitHits))
			}
			advice := c.promise(c.servedFromMemory(&v, v.refault)).advise(
				fmt.Sprintf("raise the memory limit of the cgroup above %s", bytes(limit)), "reads are then served from memory")
			cached, _ := c.w.Value(sample.CgroupMemFile, sample.Entity{Cgroup: cg})
			if set := c.rereadSet(&v, cached); set > 0 {
				anon, _ := c.w.Value(sample.CgroupMemAnon, sample.Entity{Cgroup: cg})
				advice.Do = fmt.Sprintf("raise the memory limit of the cgroup from %s to about %s: what is re-read is %s",
					bytes(limit), bytes((set+anon)*1.1), bytes(set))
				if (set+anon)*1.1 > avail+limit {
					advice.Do += fmt.Sprintf(" (the host has only %s available)", bytes(avail))
				}
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.3, c.exact()),
				Weight: c.readWeight(&v), Culprit: k, Evidence: e,
				Disprove: "refaults in the cgroup that go on after its limit was raised above what it re-reads",
				Advice:   []Advice{advice},
			}
		},
	}
}
