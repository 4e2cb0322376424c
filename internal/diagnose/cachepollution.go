package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// What makes a process's reads use-once, and it the one that fills the cache.
const (
	useOnceReread = 0.10 // at most this share of what it puts in had been there before
	fillerShare   = 0.50 // at least this share of what is put in is its
)

// filler is a process whose use-once reads go through the cache that the
// victim shares with it.
type filler struct {
	pid      int
	inserted float64 // pages
	reread   float64 // of these
	evicted  float64 // pages of the victim's files that it pushed out itself
}

// cachePollution: one process's use-once reads push another's data out.
func cachePollution() Cause {
	return Cause{
		ID: "cache-pollution", Title: "another program's use-once reads push the data out of the cache",
		Needs: [][]sample.Metric{{sample.CacheInserted}, {sample.CacheReread}},
		Over:  append(deviceCauses(), "cache-busting", "cgroup-cache-limit", "cold-cache", "noisy-neighbour", "reclaim-stall"),
		Judge: func(c *Case) Verdict {
			if !c.exact() {
				return cannotTell(c.w.WhyAbsent(sample.CacheVisits))
			}
			v := c.cache()
			if why := c.readsMatter(&v); why != "" {
				return no(why)
			}
			if v.refault < refaultLimit {
				return no(fmt.Sprintf("only %s of the pages read had been evicted before", percent(v.refault)))
			}
			capacity, from := c.capacity()
			if capacity == 0 {
				return cannotTell(c.w.WhyAbsent(sample.MemCache))
			}
			f, all := c.filler(capacity)
			if f.pid == 0 {
				return no("no other program fills the cache with data that it does not read again")
			}
			if f.inserted < fillerShare*all {
				return no(fmt.Sprintf("only %s of what is put into the cache is another's", percent(f.inserted/all)))
			}
			set := c.ownSet(&v)
			if set > 0.95*capacity {
				return no(fmt.Sprintf("what the victim re-reads (%s) does not fit into the cache of %s even without others", bytes(set), bytes(capacity)))
			}
			s := c.w.Seconds()
			p := c.w.Processes[f.pid]
			k := Culprit{PID: f.pid, Comm: p.Comm, Cgroup: p.MemoryCgroup, Device: c.device}
			c.at(&k, c.fileOf(f.pid, ""))
			e := append(c.cacheEvidence(&v),
				c.figure("put into the cache by the culprit", f.inserted*pageSize/s, "bytes/s", sample.CacheInserted),
				c.figure("of that re-read after eviction", f.reread/f.inserted, "ratio", sample.CacheReread),
				c.figure("put into the cache by the victim", v.inserted*pageSize/s, "bytes/s", sample.CacheInserted),
				c.figure("what the victim re-reads", set, "bytes", sample.CacheReread),
				c.figure("cache that both share", capacity, "bytes", from))
			if f.evicted > 0 {
				e = append(e, c.figure("the victim's pages dropped by the culprit", f.evicted/s, "pages/s", sample.CacheEvicted))
			}
			share := f.inserted / (f.inserted + v.inserted)
			return Verdict{
				Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.2, true) * (0.8 + 0.2*share),
				Weight: c.readWeight(&v) * share, Culprit: k, Evidence: e,
				Disprove: "evictions of the victim's pages that go on while the other program is stopped",
				Advice: []Advice{c.promise(c.servedFromMemory(&v, v.refault)).advise(
					"let the other program leave the cache alone: posix_fadvise(POSIX_FADV_DONTNEED) behind its reads or POSIX_FADV_NOREUSE, RWF_DONTCACHE or O_DIRECT",
					fmt.Sprintf("the %s that the victim re-reads then stay in the cache of %s", bytes(set), bytes(capacity)),
				), {
					Do:     "or run it in a memory cgroup of its own with a small limit",
					Expect: "it then evicts its own pages only",
				}},
			}
		},
	}
}

// capacity is the memory that can cache the victim's files, in bytes: what its
// cgroup's limit leaves when that is reached, else what the host caches now.
func (c *Case) capacity() (size float64, from sample.Metric) {
	if cg, _, limit, ok := c.memoryLimit(); ok {
		anon, _ := c.w.Value(sample.CgroupMemAnon, sample.Entity{Cgroup: cg})
		return limit - anon, sample.CgroupMemLimit
	}
	size, _ = c.gauge(sample.MemCache)
	return size, sample.MemCache
}

// filler is the process that puts most into the victim's cache without getting
// anything back from it: it reads nothing twice, or its data would not fit
// anyway. all is the pages put in by everybody who shares that cache.
func (c *Case) filler(capacity float64) (best filler, all float64) {
	limited, _, _, _ := c.memoryLimit()
	c.w.Each(sample.CacheInserted, func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 || e.File != (sample.FileID{}) || limited != "" && !inCgroup(c.w.Processes[e.PID].MemoryCgroup, limited) {
			return
		}
		f := filler{pid: e.PID, inserted: s.Sum(), reread: c.sumOf(sample.CacheReread, e.PID)}
		all += f.inserted
		once := f.reread <= useOnceReread*f.inserted || (f.inserted-f.reread)*pageSize > capacity
		if e.PID == c.victim.pid || !once || f.inserted <= best.inserted {
			return
		}
		best = f
	})
	if best.pid != 0 {
		c.w.Each(sample.CacheEvicted, func(e sample.Entity, s *sample.Series) {
			if e.PID == best.pid && c.readsFile(e.File) {
				best.evicted += s.Sum()
			}
		})
	}
	return best, all
}

// readsFile tells whether the victim reads a file through the cache.
func (c *Case) readsFile(id sample.FileID) bool {
	return id != (sample.FileID{}) && c.w.Get(sample.CacheVisits, sample.Entity{PID: c.victim.pid, File: id}) != nil
}

// ownSet is the bytes that the victim reads again and again: what it was seen
// to put in for the first time, and what it found in the cache; at most all of
// its files.
func (c *Case) ownSet(v *cacheView) float64 {
	set := (v.inserted - v.reread) * pageSize
	c.w.Each(sample.CacheResident, func(e sample.Entity, s *sample.Series) {
		if c.readsFile(e.File) {
			set += s.Last() * pageSize
		}
	})
	if files := c.filesFromDisk(); files > 0 {
		set = min(set, files)
	}
	return set
}
