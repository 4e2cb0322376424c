package diagnose

import (
	"cmp"
	"fmt"

	"iocause/internal/sample"
)

// What makes a process's reads use-once, and it the one that fills the cache.
const (
	useOnceReread = 0.10 // at most this share of what it puts in had been there before
	useOnceHits   = 0.10 // at most this share of the pages that it asks for is a hit: headers and indexes of a file are
	fillerShare   = 0.50 // at least this share of what others put in is such data
)

// filler is the processes whose use-once reads go through the cache that the
// victim shares with them.
type filler struct {
	pid      int     // of the largest
	inserted float64 // pages
	reread   float64 // of these
	evicted  float64 // pages of the victim's files that it pushed out itself
}

// cachePollution: one process's use-once reads push another's data out.
func cachePollution() Cause {
	return Cause{
		ID: CachePollution, Title: "another program's use-once reads push the data out of the cache",
		Needs: [][]sample.Metric{{sample.CacheInserted}, {sample.CacheReread}},
		Over:  append(append(deviceCauses(), servedCauses()...), CacheBusting, CgroupCacheLimit, ColdCache, MetadataBound, NoisyNeighbour, ReclaimStall),
		Judge: func(c *Case) Verdict {
			v, refused := c.evictedReads()
			if refused != nil {
				return *refused
			}
			room := c.room()
			if !room.known {
				return cannotTell(room.why)
			}
			capacity, from := room.bytes, room.from
			limited, _, _, _ := c.memoryLimit()
			f, all := c.fillers(capacity)
			if f.pid == 0 {
				return no("no other program fills the cache with data that it does not re-read")
			}
			if f.inserted < fillerShare*all {
				return no(fmt.Sprintf("only %s of what other programs bring into the cache is not re-read", percent(f.inserted/all)))
			}
			own := c.victimsSet()
			if set := max(own.least, own.likely); set > fitsShare*capacity {
				return no(fmt.Sprintf("what the victim re-reads (%s) does not fit into %s even without others", bytes(set), &room))
			}
			set := max(own.least, own.likely)
			// what is put in holds its share of the cache until it is evicted
			share := f.inserted / (all + v.inserted)
			if set < (1-share)*capacity {
				return no(fmt.Sprintf("the other program brings in %s of what enters the cache: what the victim re-reads (%s) fits beside that", percent(share), bytes(set)))
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
				c.figure("memory that both may cache in", capacity, "bytes", from))
			if f.evicted > 0 {
				e = append(e, c.figure("the victim's pages dropped by the culprit", f.evicted/s, "pages/s", sample.CacheEvicted))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.2, true) * (0.8 + 0.2*share),
				Weight: c.readWeight(&v) * share, Culprit: k, Evidence: e,
				Disprove: "the victim's pages are still evicted while the other program is stopped",
				Advice: append([]Advice{c.promise(c.servedFromMemory(&v, v.refault)).advise(
					"keep the other program's data out of the cache: posix_fadvise(POSIX_FADV_DONTNEED) behind its reads or POSIX_FADV_NOREUSE, RWF_DONTCACHE or O_DIRECT",
					fmt.Sprintf("the %s that the victim re-reads then stay in the cache of %s", bytes(set), bytes(capacity)),
				).saving(c.unpolluted(&v, f.inserted/all), ""), {
					Do:     "or run it in a memory cgroup of its own with a small limit",
					Expect: "the same: it then evicts its own pages only",
				}}, c.keepBeside(&v, limited)...),
			}
		},
	}
}

// unpolluted is what the victim no longer reads from disk once the others, who bring in
// so much of what is not its own, leave the cache alone: all that it reads again, since
// it fits then. What is left of the others may still push out its part, and what it
// reads for the first time in this window it may have read long before.
func (c *Case) unpolluted(v *cacheView, share float64) *Saves {
	return saves(ownReads, v.refault, v.refault*share-0.05, 1, c.w.Source(v.from))
}

// fillers are the programs beside the victim that put data into the cache which
// they get nothing back of: they hit next to nothing, and either read nothing
// twice or pass over more than can ever be cached. The largest of them stands
// for all; all is what everybody puts in but those who read the victim's files,
// in pages: what the victim puts in again is the effect, not the cause.
func (c *Case) fillers(capacity float64) (most filler, all float64) {
	limited, _, _, _ := c.memoryLimit()
	var sum filler
	largest := 0.0
	c.w.Each(sample.CacheInserted, func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 || e.PID == c.victim.pid || e.File != (sample.FileID{}) ||
			limited != "" && !inCgroup(c.w.Processes[e.PID].MemoryCgroup, limited) {
			return
		}
		f := filler{pid: e.PID, inserted: s.Sum(), reread: c.sumOf(sample.CacheReread, e.PID)}
		if c.insertedFor(f.pid) >= 0.5*f.inserted {
			return // works on the same data
		}
		all += f.inserted
		if !c.useOnce(&f, capacity) {
			return
		}
		sum.inserted, sum.reread = sum.inserted+f.inserted, sum.reread+f.reread
		if f.inserted > largest || f.inserted == largest && f.pid < sum.pid {
			sum.pid, largest = f.pid, f.inserted
		}
		c.w.Each(sample.CacheEvicted, func(x sample.Entity, s *sample.Series) {
			if x.PID == f.pid && c.readsFile(x.File) {
				sum.evicted += s.Sum()
			}
		})
	})
	return sum, all
}

// useOnce tells whether the cache serves a program nothing that it had read
// before. On a second pass over more than can be cached every page is a re-read,
// and still none is a hit.
func (c *Case) useOnce(f *filler, capacity float64) bool {
	accesses, missed := c.sumOf(sample.CacheAccesses, f.pid), c.sumOf(sample.CacheMisses, f.pid)
	if accesses-missed > useOnceHits*accesses {
		return false
	}
	if f.reread <= useOnceReread*f.inserted {
		return true
	}
	set := c.readSet(func(pid int) bool { return pid == f.pid })
	return set.exceeds(capacity) || !set.open && cmp.Or(set.likely, set.most) > capacity
}

// insertedFor is the pages of the victim's files that another program puts into
// the cache.
func (c *Case) insertedFor(pid int) float64 {
	n, _ := c.w.SumWhere(sample.CacheInserted, func(e sample.Entity) bool { return e.PID == pid && c.readsFile(e.File) })
	return n
}

// readsFile tells whether the victim reads a file through the cache.
func (c *Case) readsFile(id sample.FileID) bool {
	if id == (sample.FileID{}) {
		return false
	}
	for _, m := range []sample.Metric{sample.CacheAccesses, sample.CacheMappedMisses, sample.CacheInserted} {
		if c.w.Get(m, sample.Entity{PID: c.victim.pid, File: id}) != nil {
			return true
		}
	}
	return false
}
