package diagnose

import (
	"slices"

	"iocause/internal/sample"
)

// squeezeSince reads how the memory moved since the window of better times.
func (c *Case) squeezeSince() (q squeeze, missing string) {
	if cg, _, limit, ok := c.memoryLimit(); ok {
		return c.squeezeInSince(cg, limit)
	}
	gauge := func(w *sample.Window, m sample.Metric) (float64, bool) {
		s := w.Get(m, sample.Entity{})
		if s == nil || len(s.Points) == 0 {
			return 0, false
		}
		return s.Last(), true
	}
	then, now := c.before.Window, c.w
	q = squeeze{from: sample.MemCache, since: true}
	for i, w := range []*sample.Window{then, now} {
		total, ok1 := gauge(w, sample.MemTotal)
		cache, ok2 := gauge(w, sample.MemCache)
		unused, ok3 := gauge(w, sample.MemFree)
		if !ok1 || !ok2 || !ok3 {
			return q, w.WhyAbsent(sample.MemCache)
		}
		other := total - cache - unused
		if i == 0 {
			q.before, q.room, q.grown = cache, cache+unused, -other
		} else {
			q.after, q.grown = cache, q.grown+other
		}
	}
	q.most(c, []growth{
		{"anonymous memory", sample.MemAnon}, {"tmpfs and shared memory", sample.MemShmem}, {"kernel slab", sample.MemSlab}, {"huge pages that are set aside", sample.MemHuge},
	}, func(m sample.Metric) (float64, float64, bool) {
		first, ok1 := gauge(then, m)
		last, ok2 := gauge(now, m)
		return first, last, ok1 && ok2
	})
	return q, ""
}

// squeezeInSince is the same for a cgroup.
func (c *Case) squeezeInSince(cg string, limit float64) (q squeeze, missing string) {
	_, before, ok1 := c.was.charged(sample.CgroupMemFile, cg)
	_, after, ok2 := c.charged(sample.CgroupMemFile, cg)
	if !ok1 || !ok2 {
		return q, "the memory of cgroup " + cg + " was not recorded before"
	}
	q = squeeze{cgroup: cg, from: sample.CgroupMemFile, before: before, after: after, since: true, room: limit}
	moved := func(m sample.Metric) (float64, float64, bool) {
		_, first, _ := c.was.charged(m, cg)
		_, last, ok := c.charged(m, cg)
		return first, last, ok
	}
	for _, m := range []sample.Metric{sample.CgroupMemAnon, sample.CgroupMemShmem} {
		first, last, _ := moved(m)
		q.grown += last - first
		q.room -= first
	}
	q.most(c, []growth{{"anonymous memory", sample.CgroupMemAnon}, {"tmpfs and shared memory", sample.CgroupMemShmem}}, moved)
	return q, ""
}

// refaultsSince are the pages a second that were re-read after eviction in
// better times and now.
func (c *Case) refaultsSince() (earlier, later float64, ok bool) {
	then, ok1 := c.before.Window.Sum(sample.VMRefaultFile, sample.Entity{})
	now, ok2 := c.w.Sum(sample.VMRefaultFile, sample.Entity{})
	if !ok1 || !ok2 || c.before.Window.Seconds() <= 0 || now == 0 {
		return 0, 0, false
	}
	return then / c.before.Window.Seconds(), now / c.w.Seconds(), true
}

// filesAccessed is the size in bytes of the files that programs of the victim's
// name read through the cache.
func (c *Case) filesAccessed() float64 {
	var files []sample.FileID
	var size float64
	c.w.Each(sample.CacheAccesses, func(e sample.Entity, s *sample.Series) {
		if e.File == (sample.FileID{}) || s.Sum() == 0 || c.w.Processes[e.PID].Comm != c.victim.process.Comm || slices.Contains(files, e.File) {
			return
		}
		files = append(files, e.File)
		size += float64(c.w.Files[e.File].Size)
	})
	return size
}

// residentThen is what a process had in memory in better times: 0 where it was
// not there, or where its number was another's.
func (c *Case) residentThen(pid int) float64 {
	then := c.before.Window
	s := then.Get(sample.ProcRSS, sample.Entity{PID: pid})
	if s == nil || then.Processes[pid].Comm != c.w.Processes[pid].Comm {
		return 0
	}
	return s.Last()
}
