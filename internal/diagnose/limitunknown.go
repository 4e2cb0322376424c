package diagnose

import (
	"slices"

	"iocause/internal/sample"
)

// An unreadable limit is not "no limit": in many containers the cgroup file
// system is hidden, and the process itself seems to be in "/".

// limitUnknown says why it is not known whether a memory limit holds the victim's
// cache small; "" where it is known.
func (c *Case) limitUnknown() string {
	if c.w.Told || c.victim.pid == 0 {
		return ""
	}
	own := c.victim.process.MemoryCgroup
	if _, read := c.w.Value(sample.CgroupMemUsage, sample.Entity{Cgroup: own}); read {
		return ""
	}
	// A cgroup without these files has no memory controller, and so no limit of
	// its own; only a gap says that there was something that could not be read.
	for _, m := range []sample.Metric{sample.CgroupMemLimit, sample.CgroupMemUsage} {
		if slices.ContainsFunc(c.w.Gaps, func(g sample.Gap) bool { return slices.Contains(g.Metrics, m) }) {
			return c.w.WhyAbsent(m)
		}
	}
	return ""
}

// evictor is whose want of memory pushes pages out of the cache.
type evictor string

const (
	byHost    evictor = "the host"
	byCgroup  evictor = "a cgroup at its limit"
	byUnknown evictor = ""
)

// evictsFor tells, without a look at any limit, who wants the memory that the
// victim's pages have to leave. The kernel counts what it reclaims for a cgroup at
// its limit apart from what it reclaims for the host (mm/vmscan.c, cgroup_reclaim:
// pgsteal_kswapd and pgsteal_direct of /proc/vmstat are the host's alone), while
// workingset_refault_file has the pages of both.
func (c *Case) evictsFor() evictor {
	kswapd, ok := c.all(sample.VMStealKswapd)
	direct, _ := c.all(sample.VMStealDirect)
	refaults, counted := c.all(sample.VMRefaultFile)
	if !ok || !counted || refaults < fewMisses {
		return byUnknown
	}
	// What comes back must have been pushed out by somebody. Pages may have left
	// before the window began: so only a clear majority counts, either way.
	switch host := kswapd + direct; {
	case host < 0.2*refaults:
		return byCgroup
	case host > 0.8*refaults:
		return byHost
	}
	return byUnknown
}
