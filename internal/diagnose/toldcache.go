package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Of the pages that come in, the share that pushes others out, from which on
// the cache counts as full, and up to which it counts as growing.
const (
	replacedLimit = 0.75
	growingLimit  = 0.25
)

// untold tells whether a window from a text leaves open whether pages are read
// again after an eviction.
func (c *Case) untold() bool {
	return c.w.Told && !c.w.Has(sample.CacheReread) && !c.w.Has(sample.VMRefaultFile)
}

// toldCache judges cache-busting and cold-cache from what texts hold: whether
// the cache grows as pages come in or only changes its content, or how large
// the files are that are read.
func (c *Case) toldCache(v *cacheView, cause ID) Verdict {
	missing := cannotTell(c.w.WhyAbsent(sample.CacheReread))
	if v.hitRatio() > 0.95 {
		return no("reads are served from the cache (" + percent(v.hitRatio()) + " hits)")
	}
	if set := c.toldSet(); set > 0 {
		return c.toldBySize(v, cause, set)
	}
	replaced, ok := c.replaced(v)
	if !ok {
		return missing
	}
	free, hasFree := c.gauge(sample.MemFree)
	total, hasTotal := c.gauge(sample.MemTotal)
	switch {
	case replaced >= replacedLimit && hasFree && hasTotal && free > 0.2*total:
		return cannotTell(fmt.Sprintf("the cache does not grow although %s of memory are free: a cgroup's limit may stop it; run iocause diagnose while it happens", bytes(free)))
	case replaced >= replacedLimit && cause == ColdCache:
		return no(percent(replaced) + " of what comes into the cache evicts something: it is full")
	case replaced >= replacedLimit:
		return c.toldVerdict(v, (replaced-replacedLimit)/(1-replacedLimit), c.figure("inserted pages evicting others", replaced, "ratio", sample.MemCache).as("pages-in-that-push-others-out"))
	case replaced <= growingLimit && cause == ColdCache:
		return c.toldVerdict(v, 1-replaced/growingLimit, c.figure("inserted pages growing the cache", 1-replaced, "ratio", sample.MemCache).as("pages-in-that-add-to-the-cache"))
	case replaced <= growingLimit:
		return no("the cache grows by what is read: it is not full")
	}
	return missing
}

// toldBySize judges by the size of the files that are read.
func (c *Case) toldBySize(v *cacheView, cause ID, set float64) Verdict {
	avail, ok := c.gauge(sample.MemAvailable)
	switch {
	case !ok:
		return cannotTell("the pasted output does not show how much memory is available: paste free -m")
	case set > avail && v.hitRatio() > 0.02 && cause == CacheBusting:
		return c.toldVerdict(v, (set-avail)/set+0.5, c.figure("data read", set, "bytes", sample.CacheAccesses))
	case set > avail && v.hitRatio() > 0.02:
		return no("a part is in the cache, but all of it, " + bytes(set) + ", does not fit into the " + bytes(avail) + " available")
	case cause == CacheBusting && set <= avail:
		return no("what is read, " + bytes(set) + ", fits into the " + bytes(avail) + " available")
	}
	return cannotTell("no read was served from the cache: run the same reads again; if they are fast, the cache was cold, else the data does not fit")
}

// toldSet is the size of the files that the victim is said to read.
func (c *Case) toldSet() float64 {
	total := 0.0
	c.w.Each(sample.CacheAccesses, func(e sample.Entity, _ *sample.Series) {
		if e.PID == c.victim.pid && e.File != (sample.FileID{}) {
			total += float64(max(0, c.w.Files[e.File].Size))
		}
	})
	return total
}

// replaced is the share of what came into the cache that did not make it
// grow, 0 to 1.
func (c *Case) replaced(v *cacheView) (share float64, ok bool) {
	cache := c.w.Get(sample.MemCache, sample.Entity{})
	if cache == nil || len(cache.Points) < 3 || v.misses < fewMisses {
		return 0, false
	}
	n := float64(len(cache.Points))
	came := v.misses * pageSize * (n - 1) / n
	return clamp01(1 - (cache.Last()-cache.Points[0].Value)/came), true
}

// toldVerdict is the positive answer with all that the text shows for it.
func (c *Case) toldVerdict(v *cacheView, margin float64, decided Evidence) Verdict {
	d := c.deviceTold()
	e := []Evidence{c.figure("page cache hit ratio", v.hitRatio(), "ratio", sample.CacheAccesses)}
	if low, high, ok := c.hitRange(); ok {
		e = append(e, c.figure("lowest of an interval", low, "ratio", sample.CacheAccesses),
			c.figure("highest of an interval", high, "ratio", sample.CacheAccesses))
	}
	e = append(e, decided)
	for _, g := range []struct {
		name   string
		metric sample.Metric
	}{{"page cache", sample.MemCache}, {"memory free", sample.MemFree}} {
		if x, ok := c.gauge(g.metric); ok {
			e = append(e, c.figure(g.name, x, "bytes", g.metric))
		}
	}
	if d.known && d.why == "" {
		if read, ok := c.w.Sum(sample.DiskReadBytes, sample.Entity{Device: c.device}); ok {
			e = append(e, c.figure("read from "+c.device, read/c.w.Seconds(), "bytes/s", sample.DiskReadBytes).as("read-from-the-device"))
		}
		e = append(e, c.figure("latency of "+c.device, d.latency, "seconds", sample.BlockDeviceTime).as("latency"),
			c.figure("mean in flight", d.depth, "count", sample.BlockBinTime))
	}
	if avail, ok := c.gauge(sample.MemAvailable); ok {
		e = append(e, c.figure("memory available", avail, "bytes", sample.MemAvailable))
	}
	out := Verdict{
		Answer: Yes, Confidence: confidence(margin, false), Weight: c.readWeight(v), Culprit: c.culprit(), Evidence: e,
		Disprove: "refaults (workingset_refault_file in /proc/vmstat) do not rise meanwhile: then it is one pass over data that was not cached",
	}
	out.Culprit.Device = c.device
	if c.toldSet() == 0 && margin > 0 && decided.Name == "inserted pages growing the cache" {
		out.Disprove = "refaults (workingset_refault_file in /proc/vmstat) rise meanwhile: then the data does not fit into the cache"
		out.Advice = []Advice{{Do: "let it warm up, or read the files ahead of use", Expect: "reads of data that is in the cache do not wait for the device"}}
		return out
	}
	out.Advice = c.memoryAdvice(v)
	if set := c.toldSet(); set > 0 {
		avail, _ := c.gauge(sample.MemAvailable)
		out.Advice[0] = Advice{
			Do:     fmt.Sprintf("make %s more memory available, so that the %s read fit, or read less of it at a time", bytes(set-avail), bytes(set)),
			Expect: "reads are then served from memory",
		}
	}
	return out
}

// hitRange is the lowest and the highest hit ratio of an interval.
func (c *Case) hitRange() (low, high float64, ok bool) {
	e := sample.Entity{PID: c.victim.pid}
	accesses, misses := c.w.Get(sample.CacheAccesses, e), c.w.Get(sample.CacheMisses, e)
	if accesses == nil || misses == nil || len(accesses.Points) < 2 || len(accesses.Points) != len(misses.Points) {
		return 0, 0, false
	}
	low = 1
	for i, p := range accesses.Points {
		if r, asked := figure.HitRatio(p.Value, misses.Points[i].Value); asked {
			low, high, ok = min(low, r), max(high, r), true
		}
	}
	return low, high, ok
}

// dirtyTold judges by how much was written, how long that took, and where
// pauses begin.
func (c *Case) dirtyTold() Verdict {
	limit, ok1 := c.gauge(sample.VMDirtyLimit)
	background, ok2 := c.gauge(sample.VMDirtyBg)
	written := c.of(sample.ProcWriteChars)
	wait := c.victim.wait[sample.ClassWrite]
	s := c.w.Seconds()
	switch {
	case c.victim.known && written == 0:
		return no("the victim writes nothing")
	case c.victim.known && c.of(sample.DirectWriteByte) >= written:
		return no("what the victim writes goes past the page cache (O_DIRECT)")
	case c.victim.known && wait < waitShareLimit*s*max(1, c.victim.threads):
		return no("writes do not wait")
	case !ok1 || !ok2:
		return cannotTell(c.w.WhyAbsent(sample.VMDirtyLimit))
	case !c.victim.known || written == 0:
		return cannotTell(c.w.WhyAbsent(sample.WaitDirtyPause))
	}
	freerun := (limit + background) / 2
	if written < freerun {
		return no("the " + bytes(written) + " written stay below the point where pauses begin (" + bytes(freerun) + ")")
	}
	e := []Evidence{
		c.figure("time waiting in write calls", wait/(s*max(1, c.victim.threads)), "ratio", sample.CallTime),
		c.figure("written", written, "bytes", sample.ProcWriteChars),
		c.figure("rate of writing", written/s, "bytes/s", sample.ProcWriteChars),
		c.figure("dirty limit", limit, "bytes", sample.VMDirtyLimit),
		c.figure("pauses begin at", freerun, "bytes", sample.VMDirtyLimit),
	}
	if avail, ok := c.gauge(sample.MemAvailable); ok {
		e = append(e, c.figure("memory available", avail, "bytes", sample.MemAvailable))
	}
	if calls := c.of(sample.ProcWriteCalls); calls > 0 {
		e = append(e, c.figure("mean time of one write", wait/calls, "seconds", sample.CallTime))
	}
	if n, ok := c.w.Sum(sample.DiskWrites, sample.Entity{Device: c.device}); ok && n > 0 {
		e = append(e, c.figure("writes to "+c.device, n/s, "count/s", sample.DiskWrites).as("writes-to-the-device"))
	}
	k := c.victimCulprit()
	k.Device = c.device
	return Verdict{
		Answer: Yes, Confidence: confidence(min(1, (written-freerun)/freerun/4+wait/(s*max(1, c.victim.threads))/2), false),
		Weight: c.part(wait), Culprit: k, Evidence: e,
		Disprove: "Dirty and Writeback of /proc/meminfo stay below the point where pauses begin while it writes, or the file is opened with O_SYNC",
		Advice: []Advice{{
			Do:     "write less at a time, or give the device more write bandwidth: beyond the limit writers run at the device's speed",
			Expect: "raising the limit does not make the device faster; bursts below " + bytes(freerun) + " go at the speed of memory",
		}, {
			Do:     "or free memory, or raise vm.dirty_ratio: the limit is a share of the memory available",
			Expect: "the limit, now " + bytes(limit) + ", grows with it",
		}},
	}
}

// toldRefaults takes the kernel's count of pages that are read again after an
// eviction, as a share of all that the host read, or else of the misses.
func (c *Case) toldRefaults(v *cacheView) {
	again, ok := c.all(sample.VMRefaultFile)
	if !ok {
		return
	}
	from := v.misses
	if in, ok := c.all(sample.VMPageIn); ok {
		from = in / pageSize
	}
	v.refault, v.from = min(1, again/max(1, from)), sample.VMRefaultFile
}
