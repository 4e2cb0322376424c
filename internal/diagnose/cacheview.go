package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Thresholds of the page-cache causes.
const (
	refaultLimit = 0.25 // share of inserted pages that had been evicted: from here on "busting"
	fewMisses    = 64   // pages from disk: fewer are not worth a cause,
	leastMisses  = 8    // unless most of the waiting is for pages: then from so many on
)

// cacheView is what the page cache did for the victim.
type cacheView struct {
	known    bool
	why      string  // when not known
	accesses float64 // pages asked for by reads
	misses   float64 // of these from disk
	mapped   float64 // pages first used through a mapping, from disk
	inserted float64 // pages put in for reading
	reread   float64 // of these, evicted during the window
	major    float64
	blocks   float64 // pages of a file system's own put in, of a victim that waits for these
	readWait float64 // seconds waited for cached reads and faults
	refault  float64 // share of what was inserted that had been evicted before, 0 to 1
	from     sample.Metric
}

// hitRatio is the share of accesses served from the cache, 0 to 1.
func (v *cacheView) hitRatio() float64 {
	if r, ok := figure.HitRatio(v.accesses, v.misses); ok {
		return r
	}
	return 1
}

// byMapping tells of a victim whose pages come from disk by faults of mapped
// files: the hit ratio of read calls says nothing of these.
func (v *cacheView) byMapping() bool { return v.mapped > v.misses }

// fromDisk is the pages that came from disk and were used.
func (v *cacheView) fromDisk() float64 { return v.misses + v.mapped + v.blocks }

// fewPages tells that the pages from disk are too few to be worth a cause. Of a crowd
// that reads the same files each brings few in, and waits for those of the others.
func (c *Case) fewPages(v *cacheView) bool {
	if n := v.fromDisk(); n >= fewMisses || n < leastMisses {
		return n < leastMisses
	}
	return c.victim.waits[sample.ClassPage] < 0.5*c.victim.waitTotal
}

// missedReads is the page cache as the victim sees it, for a cause of reads that
// miss it; refused is the answer where nothing is known of it, or reads do not matter.
func (c *Case) missedReads() (v cacheView, refused *Verdict) {
	v = c.cache()
	if !v.known {
		return v, refuse(cannotTell(v.why))
	}
	if why := c.readsMatter(&v); why != "" {
		return v, refuse(no(why))
	}
	return v, nil
}

// evictedReads is the same for a cause that must see every access, of pages that
// had been in the cache.
func (c *Case) evictedReads() (v cacheView, refused *Verdict) {
	if !c.exact() {
		return v, refuse(cannotTell(c.w.WhyAbsent(sample.CacheAccesses)))
	}
	v, refused = c.missedReads()
	if refused == nil && v.refault < refaultLimit {
		refused = refuse(no(fmt.Sprintf("only %s of the pages read had been evicted before", percent(v.refault))))
	}
	return v, refused
}

func (c *Case) cache() cacheView {
	w := c.w
	if !w.Has(sample.CacheAccesses) {
		return c.cacheFromProc()
	}
	v := cacheView{
		known: true, accesses: c.of(sample.CacheAccesses), misses: c.of(sample.CacheMisses),
		mapped: c.of(sample.CacheMappedMisses), major: c.of(sample.CacheMajor),
		inserted: c.of(sample.CacheInserted) - c.of(sample.CacheWriteAlloc), reread: c.of(sample.CacheReread),
	}
	r := c.reading()
	v.readWait = r.cached + r.metadata
	if r.metadata > r.cached { // its blocks are put in, and no event tells that they are used
		v.blocks = max(0, v.inserted-v.misses-v.mapped)
	}
	v.refault, v.from = c.refaultShare(&v)
	if c.w.Told {
		c.toldRefaults(&v)
	}
	return v
}

// refaultShare is the part of the victim's inserted pages that had been in
// the cache before and were evicted. Evictions inside the window are known
// page by page; older ones from the kernel's own count, for the victim's
// cgroup where that is small enough, else for the host.
func (c *Case) refaultShare(v *cacheView) (float64, sample.Metric) {
	if v.inserted <= 0 {
		return 0, sample.CacheReread
	}
	own := v.reread / v.inserted
	total, _ := c.all(sample.CacheInserted)
	allocated, _ := c.all(sample.CacheWriteAlloc)
	read := max(total-allocated, v.inserted)
	if cg := c.victim.process.MemoryCgroup; cg != "" && cg != "/" {
		if n, ok := c.w.Sum(sample.CgroupRefault, sample.Entity{Cgroup: cg}); ok {
			if s := min(1, n/max(c.insertedIn(cg), v.inserted)); s > own {
				return s, sample.CgroupRefault
			}
			return own, sample.CacheReread
		}
	}
	// the host's count says something about the victim only if most of what
	// was inserted was its own
	if v.inserted >= 0.5*read {
		if n, ok := c.all(sample.VMRefaultFile); ok {
			if s := min(1, n/read); s > own {
				return s, sample.VMRefaultFile
			}
		}
	}
	return own, sample.CacheReread
}

// insertedIn is the pages that the processes of a cgroup put in for reading.
func (c *Case) insertedIn(cg string) float64 {
	of := func(m sample.Metric) float64 {
		n, _ := c.w.SumWhere(m, func(e sample.Entity) bool {
			return e.PID != 0 && e.File == (sample.FileID{}) && inCgroup(c.w.Processes[e.PID].MemoryCgroup, cg)
		})
		return n
	}
	return of(sample.CacheInserted) - of(sample.CacheWriteAlloc)
}

// cacheFromProc is the best that the kernel's counters alone can tell.
func (c *Case) cacheFromProc() cacheView {
	in, ok := c.of(sample.ProcReadBytes), c.w.Has(sample.ProcReadBytes)
	if !ok {
		in, ok = c.all(sample.VMPageIn)
	}
	refaults, hasRefaults := c.all(sample.VMRefaultFile)
	if !ok || !hasRefaults {
		return cacheView{why: c.w.WhyAbsent(sample.CacheAccesses)}
	}
	v := cacheView{
		known: true, inserted: in / pageSize, misses: in / pageSize, accesses: c.of(sample.ProcReadChars) / pageSize,
		readWait: c.victim.waitTotal - c.victim.wait[sample.ClassSync] - c.victim.wait[sample.ClassWrite], from: sample.VMRefaultFile,
	}
	v.accesses = max(v.accesses, v.misses)
	if all, ok := c.all(sample.VMPageIn); ok && all > 0 {
		v.refault = min(1, refaults*pageSize/all)
	}
	return v
}

// exact tells whether the page cache was accounted page by page.
func (c *Case) exact() bool { return c.w.Has(sample.CacheAccesses) && !c.w.Told }

// readsMatter says why a cache cause is out of the question, "" when it is not.
func (c *Case) readsMatter(v *cacheView) string {
	switch {
	case !c.suffers() && c.clearing(v) == 0:
		return "no program waits for I/O long enough to matter"
	case c.w.Told && v.accesses == 0:
		return "the victim reads nothing"
	case c.fewPages(v):
		return fmt.Sprintf("the victim's reads are served from the cache: only %.0f pages came from disk", v.fromDisk())
	case v.readWait < 0.3*(c.victim.waitTotal+c.victim.pause) && !c.neverBlocks():
		return "the victim waits mostly in something else than cached reads"
	}
	return ""
}

// clearing is the time, in seconds, that the victim frees memory for a cgroup's limit so that
// pages can be read that had been in the cache: where a disk is about as fast as the memory
// it waits for that longer than for what it reads, and both end where the pages may stay.
// 0 where that is not what it stalls for.
func (c *Case) clearing(v *cacheView) float64 {
	inCgroup, _ := c.w.Sum(sample.ReclaimTime, sample.Entity{PID: c.victim.pid, Class: sample.ClassCgroup})
	if c.victim.pid == 0 || inCgroup < 0.5*c.victim.stall || c.victim.stalled(c.w.Seconds()) < waitShareLimit ||
		v.inserted < 0.5*c.of(sample.CacheInserted) || v.refault < 0.5 {
		return 0
	}
	return inCgroup
}

// memoryLimit finds the cgroup, the victim's own or one above, whose memory
// limit was (nearly) reached: of a command that has ended, the memory is gone
// when the window closes.
func (c *Case) memoryLimit() (cgroup string, usage, limit float64, found bool) {
	for _, cg := range c.memoryCgroups() {
		l, ok := figure.MemoryLimit(c.w, cg)
		u := c.w.Get(sample.CgroupMemUsage, sample.Entity{Cgroup: cg})
		if ok && u != nil && u.Max() >= 0.9*l {
			return cg, u.Max(), l, true
		}
	}
	return "", 0, 0, false
}

// filesFromDisk is the bytes of the files that the victim reads from disk;
// files whose size is not known are left out.
func (c *Case) filesFromDisk() float64 {
	var total float64
	c.w.Each(sample.CacheInserted, func(e sample.Entity, s *sample.Series) {
		if e.PID != c.victim.pid || e.File == (sample.FileID{}) {
			return
		}
		reread, _ := c.w.Sum(sample.CacheMisses, e)
		mapped, _ := c.w.Sum(sample.CacheMappedMisses, e)
		if f, ok := c.w.Files[e.File]; ok && f.Size > 0 && reread+mapped >= fewMisses {
			total += float64(f.Size)
		}
	})
	return total
}

// cacheEvidence is what every page-cache cause shows.
func (c *Case) cacheEvidence(v *cacheView) []Evidence {
	s := c.w.Seconds()
	source := sample.CacheAccesses
	if !c.w.Has(source) {
		source = sample.ProcReadBytes
	}
	var e []Evidence
	if v.blocks > v.misses { // the reads are few beside what is waited for
		e = append(e, c.partOf("time blocked on inodes, directories and maps of blocks", c.victim.shareOf(c.reading().metadata, s), sample.WaitFor))
	} else if !v.byMapping() && !(c.w.Told && source == sample.ProcReadBytes) { // else what the cache served is not known
		e = append(e, c.figure("page cache hit ratio", v.hitRatio(), "ratio", source))
	}
	if v.byMapping() {
		e = append(e, c.figure("major faults", v.major/s, "count/s", sample.CacheMajor),
			c.figure("pages first used through a mapping", v.mapped/s, "pages/s", sample.CacheMappedMisses))
	}
	e = append(e,
		c.figure("read from disk", v.fromDisk()*pageSize/s, "bytes/s", source),
		c.figure("re-read after eviction", v.refault, "ratio", v.from))
	if id := c.topFile("", sample.CacheWait, sample.CacheMisses, sample.CacheMappedMisses); id != (sample.FileID{}) {
		if s := c.w.Get(sample.CacheResident, sample.Entity{File: id}); s != nil && c.w.Files[id].Size > 0 {
			e = append(e, Evidence{Name: "of its file in the cache", Value: s.Last() * pageSize / float64(c.w.Files[id].Size),
				Unit: "ratio", Source: s.Source})
		}
	}
	if c.victim.known {
		m := sample.WaitIO
		if !c.w.Has(m) {
			m = sample.ProcBlkioDelay
		}
		e = append(e, c.partOf("time blocked on reads", c.victim.shareOf(v.readWait, s), m))
	}
	return e
}
