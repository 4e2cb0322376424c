package diagnose

import (
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// What a victim waits for is told by where in the kernel it sleeps, not by the
// system call: a page of a file is waited for in read, in a fault, in execve and
// in io_uring_enter alike, and stat and getdents wait for blocks of the file
// system's own. Where that is not known (recordings of earlier versions, and
// hosts that hide the kernel's addresses) the call stands for it.

// waitedFor is the seconds, summed over threads, that a process waited, by what
// for; nil where that is not known.
func (c *Case) waitedFor(pid int) map[string]float64 {
	if !c.w.Has(sample.WaitFor) {
		return nil
	}
	by := map[string]float64{}
	for _, what := range []string{sample.ClassPage, sample.ClassMetadata, sample.ClassWriteback, sample.ClassCommit, sample.ClassJournal, sample.ClassFlush, sample.ClassQueue, sample.ClassLimit, sample.ClassSpace, sample.ClassDirect, sample.ClassNetwork, sample.ClassFUSE, sample.ClassPermit, sample.ClassSwap, sample.ClassUnknown} {
		by[what], _ = c.w.Sum(sample.WaitFor, sample.Entity{PID: pid, Class: what})
	}
	return by
}

// reading is the seconds that the victim waits for what it reads: through the
// cache, past it, and from swap.
type reading struct{ cached, metadata, direct, swap float64 }

// reading parts what the victim waits for in reads. What the stack does not tell
// goes with what it does: waits for room in a queue or for what io.cost grants, and for I/O that was
// submitted before, which is through the cache or past it as the bytes are.
func (c *Case) reading() reading {
	v := &c.victim
	if v.waits == nil {
		return c.readingByCall()
	}
	r := reading{cached: v.waits[sample.ClassPage], metadata: v.waits[sample.ClassMetadata], direct: v.waits[sample.ClassDirect], swap: v.waits[sample.ClassSwap]}
	if calls := v.wait[sample.ClassRead] + v.wait[sample.ClassWrite]; calls > 0 {
		r.direct *= v.wait[sample.ClassRead] / calls
	}
	async := v.wait[sample.ClassAsync]
	if told := r.cached + r.metadata + r.direct + r.swap; told > 0 {
		rest := max(0, v.waits[sample.ClassQueue]+v.waits[sample.ClassLimit]+v.waits[sample.ClassUnknown]-(async-v.async)-v.wait[sample.ClassSync]-v.wait[sample.ClassWrite])
		f := 1 + rest/told
		r.cached, r.metadata, r.direct, r.swap = r.cached*f, r.metadata*f, r.direct*f, r.swap*f
	}
	cached := c.asyncCached() * async
	r.cached += cached
	r.direct += async - cached
	return r
}

// asyncCached is the part of what the victim reads asynchronously from disk that
// goes through the cache, 0 to 1.
func (c *Case) asyncCached() float64 {
	pages := 0.0
	for _, way := range []string{sample.ClassAIO, sample.ClassIOUring} {
		n, _ := c.w.Sum(sample.CacheWayMisses, sample.Entity{PID: c.victim.pid, Class: way})
		pages += n
	}
	if pages == 0 {
		return 0
	}
	return pages * pageSize / (pages*pageSize + c.of(sample.BlockDirect))
}

// readingByCall is reading, as well as the system calls tell it.
func (c *Case) readingByCall() reading {
	v := &c.victim
	reads := v.wait[sample.ClassRead] + v.wait[sample.ClassFault]
	cached := reads
	// direct reads wait in the same calls: split by bytes read
	direct := c.of(sample.BlockDirect)
	if disk := (c.of(sample.CacheMisses) + c.of(sample.CacheMappedMisses)) * pageSize; direct > 0 {
		cached *= disk / (disk + direct)
	}
	swapped := c.swapShare()
	cached *= 1 - swapped
	r := reading{cached: cached, swap: swapped * (reads + v.wait[sample.ClassOther])}
	r.direct = max(0, v.waitTotal-v.wait[sample.ClassSync]-v.wait[sample.ClassWrite]-cached-r.swap)
	return r
}

// swapWait is the seconds that the victim waits for swap. share is the part of its
// reads that comes from there, which stands in where the stack does not tell.
func (c *Case) swapWait(share float64) float64 {
	v := &c.victim
	if v.waits != nil {
		return c.reading().swap
	}
	return share * (v.wait[sample.ClassRead] + v.wait[sample.ClassFault] + v.wait[sample.ClassOther])
}

// offDisk is the seconds that the victim waits for what is on no disk of this
// machine: for a server, for FUSE, and for files of such file systems.
func (c *Case) offDisk() float64 {
	v := &c.victim
	diskless := map[string]bool{}
	c.w.Each(sample.CacheWait, func(e sample.Entity, _ *sample.Series) {
		if e.PID == v.pid && strings.Contains(c.w.Files[e.File].Device, ":") {
			diskless[figure.FileSystem(e.File)] = true
		}
	})
	var all, off float64
	for k, seconds := range figure.PageWaits(c.w, func(pid int) bool { return pid == v.pid }) {
		all += seconds
		if diskless[k.Device] {
			off += seconds
		}
	}
	if all > 0 {
		off *= c.reading().cached / all
	}
	return v.waits[sample.ClassNetwork] + v.waits[sample.ClassFUSE] + off
}
