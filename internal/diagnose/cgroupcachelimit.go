package diagnose

import (
	"fmt"
	"slices"

	"iocause/internal/predict"
	"iocause/internal/sample"
)

// cgroupCacheLimit: a cgroup's memory limit keeps its cache small while the
// host has memory left.
func cgroupCacheLimit() Cause {
	return Cause{
		ID: CgroupCacheLimit, Title: "a cgroup's memory limit caps its page cache",
		Needs: [][]sample.Metric{{sample.CacheMisses, sample.ProcReadBytes}, {sample.CgroupMemUsage}, {sample.CgroupRefault, sample.CacheReread}},
		Over:  append(append(deviceCauses(), servedCauses()...), CacheBusting, ColdCache, MetadataBound, ReclaimStall),
		Judge: func(c *Case) Verdict {
			v, refused := c.missedReads()
			if refused != nil {
				return *refused
			}
			if c.untold() {
				return cannotTell(c.w.WhyAbsent(sample.CgroupMemLimit))
			}
			if v.refault < refaultLimit {
				return no(fmt.Sprintf("only %s of the pages read had been evicted before", percent(v.refault)))
			}
			cg, usage, limit, ok := c.memoryLimit()
			if !ok {
				return c.limitUnseen(&v)
			}
			avail, has := c.gauge(sample.MemAvailable)
			if !has {
				return cannotTell(c.w.WhyAbsent(sample.MemAvailable))
			}
			// the limit is met by all that the cgroup's programs read together
			set := c.readSet(func(pid int) bool { return inCgroup(c.w.Processes[pid].MemoryCgroup, cg) })
			if c.hostShort(&set) {
				return no(fmt.Sprintf("the host has no memory to spare either (%s available): raising the limit would not help", bytes(avail)))
			}
			taken := c.unreclaimable(cg)
			if set.fits(fitsShare * (limit - taken)) {
				return no(fmt.Sprintf("the files that the cgroup's programs read (%s) fit into the %s that its limit leaves: something else evicts them", bytes(set.most), bytes(limit-taken)))
			}
			k := c.culprit()
			k.Cgroup = cg
			e := append(c.cacheEvidence(&v),
				c.figure("memory used by the cgroup", usage, "bytes", sample.CgroupMemUsage),
				c.figure("memory limit of the cgroup", limit, "bytes", sample.CgroupMemLimit))
			e = append(e, c.setEvidence("read by the cgroup's programs", &set)...)
			e = append(e, c.figure("memory available on the host", avail, "bytes", sample.MemAvailable))
			if hits, ok := c.w.Sum(sample.CgroupLimitHits, sample.Entity{Cgroup: cg}); ok {
				e = append(e, c.figure("times the limit was hit", hits/c.w.Seconds(), "count/s", sample.CgroupLimitHits))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.3, c.exact()),
				Weight: c.limitWeight(&v), Culprit: k, Evidence: e,
				Disprove: "refaults in the cgroup continue after its limit was raised above what it re-reads",
				Advice:   slices.Concat([]Advice{c.raiseLimit(&v, &set, cg, limit, taken, avail)}, c.freeIn(&v, cg, limit, taken), c.keep(&v, cg)),
			}
		},
	}
}

// limitWeight is the weight of reads that a limit makes, with the room that they need below it.
func (c *Case) limitWeight(v *cacheView) float64 {
	if clearing := c.clearing(v); clearing > 0 {
		return c.part(v.readWait + clearing)
	}
	return c.readWeight(v)
}

// Memory that a limit needs above what is to be cached.
const (
	headroom  = 1.1  // tables of pages, other slabs and pages on their way
	fitsShare = 0.95 // the kernel begins to free pages a little below the limit
)

// raiseLimit says how far, never below the limit there is.
func (c *Case) raiseLimit(v *cacheView, set *readSet, cgroup string, limit, taken, avail float64) Advice {
	r, why := c.returns(v, cgroup)
	if why == "" {
		return c.raiseFor(v, &r, set, cgroup, limit, taken, avail)
	}
	low, high := set.span(limit - taken)
	low, top := max(headroom*(low+taken), limit), 0.0
	if high > 0 {
		top = headroom * (high + taken)
	}
	do := ""
	switch {
	case !set.known():
		do = fmt.Sprintf("raise the memory limit of the cgroup above %s", bytes(limit))
	case top == 0:
		do = fmt.Sprintf("raise the memory limit of the cgroup from %s to more than %s: at least %s are re-read; how much more was not seen",
			bytes(limit), bytes(low), bytes(set.least))
	case top <= 1.1*low:
		do = fmt.Sprintf("raise the memory limit of the cgroup from %s to about %s: %s are re-read", bytes(limit), bytes(top), bytes(high))
	default:
		do = fmt.Sprintf("raise the memory limit of the cgroup from %s to between %s and %s: %s were seen being read, of files with %s in all",
			bytes(limit), bytes(low), bytes(top), bytes(set.least), bytes(high))
	}
	if low > avail+limit {
		do += fmt.Sprintf(" (the host has only %s available)", bytes(avail))
	}
	a := c.promise(c.servedFromMemory(v, v.refault)).advise(do, "reads are then served from memory").saving(nil, why)
	if set.known() && top < avail+limit { // else it is not known how far, or that is too far
		a.Command = c.memoryLimitCommand(cgroup, top)
	}
	return a
}

// holdsShare is the part of a limit from which on it matters who else holds it.
const holdsShare = 0.20

// freeIn names the program of another name in the cgroup that holds most of the memory
// that no file can be cached in, where that is a good part of the limit.
func (c *Case) freeIn(v *cacheView, cgroup string, limit, taken float64) []Advice {
	held := map[int]float64{}
	c.w.Each(sample.ProcRSS, func(e sample.Entity, s *sample.Series) {
		p := c.w.Processes[e.PID]
		if e.PID != c.victim.pid && p.Comm != c.victim.process.Comm && inCgroup(p.MemoryCgroup, cgroup) && len(s.Points) > 0 {
			held[e.PID] = s.Last()
		}
	})
	pid := most(held)
	holds := min(held[pid], taken) // resident files of its own are in the first figure only
	if holds < holdsShare*limit {
		return nil
	}
	saved, why := c.freed(v, cgroup, holds)
	return []Advice{(Advice{
		Do:     fmt.Sprintf("or free memory that %s (pid %d) holds of that limit (%s), or move it to another cgroup", c.w.Processes[pid].Comm, pid, bytes(holds)),
		Expect: "as much more is cached then",
	}).saving(saved, why)}
}

// raiseFor says how far by how far away the pages had been that came back. What is
// read cannot be more than the files have.
func (c *Case) raiseFor(v *cacheView, r *predict.Returns, set *readSet, cgroup string, limit, taken, avail float64) Advice {
	most, bounded := avail, false
	if whole := headroom*(set.most+taken) - limit; !set.open && whole > 0 {
		most = min(most, whole)
	}
	to := 0.0
	a := c.larger(v, r, most, func(more float64) string {
		to, bounded = limit+more, more >= avail
		do := fmt.Sprintf("raise the memory limit of the cgroup from %s to about %s", bytes(limit), bytes(to))
		if bounded {
			do += ", which is all that the host has available"
		}
		return do
	}, "those are then served from memory")
	if !bounded {
		a.Command = c.memoryLimitCommand(cgroup, to)
	}
	return a
}

// limitUnseen is the answer where no limit is known to be reached. Pages that
// a cgroup's reclaim evicts are evicted for a limit, though it does not show: of
// a cgroup above that of a container, or where the files could not be read.
func (c *Case) limitUnseen(v *cacheView) Verdict {
	unread := c.limitUnknown()
	by, why := c.evictor()
	switch {
	case by == byCgroup:
	case unread != "" && by == byUnknown:
		return cannotTell(unread)
	case unread != "":
		return no("the host's own reclaim evicts the pages, not a cgroup's limit")
	default:
		return no("no memory limit of the victim's cgroups is reached")
	}
	pid := c.victim.pid
	e := append(c.cacheEvidence(v), c.reclaimEvidence()...)
	if unused, _ := c.hostFull(); unused > 0 {
		e = append(e, c.figure("memory of the host that is free", unused, "bytes", sample.MemFree))
	}
	return Verdict{
		Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.3, false), Weight: c.readWeight(v), Culprit: c.culprit(), Evidence: e,
		Disprove: "no cgroup of the victim, nor one above its container, is at its memory limit (or its memory is bound to one NUMA node, and that is full)",
		Advice: []Advice{c.promise(c.servedFromMemory(v, v.refault)).advise(
			fmt.Sprintf("on the host, look at the memory limits (memory.max, memory.limit_in_bytes) of the cgroups in /proc/%d/cgroup and raise the one that is reached; it is not visible from here: run iocause where the host's /sys/fs/cgroup is", pid),
			why+", so the host's size is not what evicts them: reads are then served from memory")},
	}
}

// evictor tells whose want of memory evicts pages, and how that is known.
func (c *Case) evictor() (by evictor, why string) {
	if by = c.evictsFor(); by == byCgroup {
		return by, "the host reclaims next to nothing while pages are evicted"
	}
	if unused, full := c.hostFull(); !full {
		return byCgroup, bytes(unused) + " of the host's memory stay free while pages are evicted"
	}
	return by, ""
}

// reclaimEvidence is who frees memory: the host's reclaim is counted apart from
// that of cgroups at their limits.
func (c *Case) reclaimEvidence() []Evidence {
	kswapd, ok := c.all(sample.VMStealKswapd)
	direct, _ := c.all(sample.VMStealDirect)
	refaults, counted := c.all(sample.VMRefaultFile)
	if !ok || !counted {
		return nil
	}
	s := c.w.Seconds()
	return []Evidence{c.figure("reclaimed for the host", (kswapd+direct)/s, "pages/s", sample.VMStealKswapd),
		c.figure("re-read after eviction, by all", refaults/s, "pages/s", sample.VMRefaultFile)}
}
