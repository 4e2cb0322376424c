package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// cacheBusting: what is read again and again is larger than what can be
// cached.
func cacheBusting() Cause {
	return Cause{
		ID: CacheBusting, Title: "the data set is larger than the memory that can cache it",
		Needs: [][]sample.Metric{{sample.CacheMisses, sample.ProcReadBytes}, {sample.CacheReread, sample.VMRefaultFile}},
		Over:  append(append(deviceCauses(), servedCauses()...), ColdCache, MetadataBound, ReclaimStall),
		Judge: func(c *Case) Verdict {
			v, refused := c.missedReads()
			if refused != nil {
				return *refused
			}
			if c.untold() {
				return c.toldCache(&v, CacheBusting)
			}
			if v.refault < refaultLimit {
				return no(fmt.Sprintf("only %s of the pages read had been evicted before: most are first reads", percent(v.refault)))
			}
			set := c.readSet(func(int) bool { return true })
			if cg, _, limit, ok := c.memoryLimit(); ok && !c.hostShort(&set) {
				return no(fmt.Sprintf("the limit of cgroup %q (%s) keeps the cache small, not the host's memory", cg, bytes(limit)))
			}
			unread := c.limitUnknown()
			if by, why := c.evictor(); by == byCgroup {
				return no(why + ": a cgroup limit that is not visible here keeps the cache small, not the host's memory")
			}
			if room := c.room(); room.known && set.fits(fitsShare*room.bytes) {
				return no(fmt.Sprintf("all files that are read (%s) fit into %s", bytes(set.most), &room))
			}
			out := Verdict{
				Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.3, c.exact() && unread == ""),
				Weight: c.readWeight(&v), Culprit: c.culprit(), Evidence: append(c.cacheEvidence(&v), c.setEvidence("read through the cache", &set)...),
				Disprove: "no more refaults while the same data is still being read",
				Advice:   c.memoryAdvice(&v),
			}
			if unread != "" {
				out.Disprove += "; or one of its cgroups at its memory limit: " + unread
			}
			if cached, ok := c.fileCache(); ok {
				out.Evidence = append(out.Evidence, c.figure("page cache, without tmpfs", cached, "bytes", sample.MemCache))
			}
			if avail, ok := c.gauge(sample.MemAvailable); ok {
				out.Evidence = append(out.Evidence, c.figure("memory available", avail, "bytes", sample.MemAvailable))
			}
			return out
		},
	}
}

// memoryAdvice says how much memory the re-read files need.
func (c *Case) memoryAdvice(v *cacheView) []Advice {
	gain := c.promise(c.servedFromMemory(v, v.refault))
	room := c.room()
	set := c.readSet(func(int) bool { return true })
	r, why := c.returns(v, "/")
	if why == "" {
		most := 0.0
		if !set.open && room.known && set.most > room.bytes {
			most = headroom * (set.most - room.bytes)
		}
		return append(append(append(c.setFree(), c.larger(v, &r, most, func(more float64) string {
			return fmt.Sprintf("add about %s of memory, or free as much by moving other programs elsewhere", bytes(more))
		}, "those are then served from memory")), inParts()), c.keep(v, "")...)
	}
	low, high := set.span(room.bytes)
	if !set.known() || !room.known {
		return append([]Advice{gain.advise("give the cache more memory, or read the data in fewer passes or smaller parts",
			"once the data that is re-read fits, its reads no longer wait").saving(nil, why)}, c.setFree()...)
	}
	more := "add memory (or move other programs elsewhere) until what is re-read, " + between(low, high) + ", fits into the cache"
	if high > 0 && low > room.bytes {
		more += fmt.Sprintf(": about %s more than %s", bytes(low-room.bytes), &room)
	}
	return append(append(append(c.setFree(), gain.advise(more, "reads are then served from memory").saving(nil, why)), inParts()), c.keep(v, "")...)
}

// inParts is what to do without more memory.
func inParts() Advice {
	return Advice{
		Do:     "or process the data in parts that fit, instead of reading all of it several times",
		Expect: "each part is read from disk once",
	}
}

// fileCache is the bytes of files that are cached, without tmpfs and shared
// memory, which the kernel counts with them.
func (c *Case) fileCache() (float64, bool) {
	cached, ok := c.gauge(sample.MemCache)
	shmem, _ := c.gauge(sample.MemShmem)
	return cached - shmem, ok && cached >= shmem // read one after the other, shmem may be ahead
}
