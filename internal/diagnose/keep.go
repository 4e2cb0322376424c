package diagnose

import (
	"fmt"

	"iocause/internal/predict"
	"iocause/internal/sample"
)

// Other ways to keep in the cache what is read again, each with its price: who else
// must have less, and how much.

// worthKeeping is the share of the disk reads below which a way is not worth a word.
const worthKeeping = 0.05

// wayToKeep is one as advice.
func wayToKeep(way predict.Way) Advice {
	return Advice{Do: "or " + way.Do, Expect: "price: " + way.Price}
}

// keep is these ways, in a cgroup whose limit is reached or on the host ("").
func (c *Case) keep(v *cacheView, cgroup string) []Advice {
	if !c.exact() || v.inserted <= 0 {
		return nil
	}
	return append(c.boundOthers(v, cgroup), c.keepBeside(v, cgroup)...)
}

// keepBeside is those that have nothing to do with other programs.
func (c *Case) keepBeside(v *cacheView, cgroup string) []Advice {
	return append(c.lockFile(v), append(c.lessAhead(v), c.lessElse(v, cgroup)...)...)
}

// boundOthers is to keep small what the program brings in that brings in most beside
// the victim. What that saves is known where what the victim reads again fits then.
func (c *Case) boundOthers(v *cacheView, cgroup string) []Advice {
	by := map[int]float64{}
	total := v.inserted
	c.w.Each(sample.CacheInserted, func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 || e.PID == c.victim.pid || e.File != (sample.FileID{}) || cgroup != "" && !inCgroup(c.w.Processes[e.PID].MemoryCgroup, cgroup) {
			return
		}
		n := s.Sum() - c.sumOf(sample.CacheWriteAlloc, e.PID)
		total += n
		if c.insertedFor(e.PID) < 0.5*n {
			by[e.PID] = n
		}
	})
	pid := most(by)
	share := by[pid] / total
	if pid == 0 || share < 2*worthKeeping {
		return nil
	}
	a := wayToKeep(predict.Bound(c.w.Processes[pid].Comm, pid, percent(share), percent(c.hitsOf(pid))))
	own, room := c.victimsSet(), c.room()
	if set := max(own.least, own.likely); set > 0 && room.known && set <= fitsShare*room.bytes {
		return []Advice{a.saving(c.unpolluted(v, share), "")}
	}
	return []Advice{a.saving(nil, "what it re-reads does not fit without the other either; 'iocause predict --pid' simulates that")}
}

// hitsOf is the share of what a process asks for that is in the cache.
func (c *Case) hitsOf(pid int) float64 {
	asked := c.sumOf(sample.CacheAccesses, pid)
	if asked == 0 {
		return 0
	}
	return clamp01(1 - c.sumOf(sample.CacheMisses, pid)/asked)
}

// lockFile is to lock the file in memory that most of the victim's misses are of.
func (c *Case) lockFile(v *cacheView) []Advice {
	id := c.topFile("", sample.CacheMisses, sample.CacheMappedMisses)
	f, room := c.w.Files[id], c.room()
	size := float64(f.Size)
	if id == (sample.FileID{}) || size <= 0 || !room.known || v.fromDisk() == 0 {
		return nil
	}
	e := sample.Entity{PID: c.victim.pid, File: id}
	missed, _ := c.w.Sum(sample.CacheMisses, e)
	mapped, _ := c.w.Sum(sample.CacheMappedMisses, e)
	share := clamp01((missed + mapped) / v.fromDisk())
	if share < worthKeeping || size > fitsShare*room.bytes {
		return nil
	}
	a := wayToKeep(predict.Lock(f.Path, bytes(size)))
	a.Expect += fmt.Sprintf(": %s of %s are left for everything else, which may read more; 'iocause predict --file' says how much", bytes(room.bytes-size), &room)
	if typeable(f.Path) {
		a.Command = "vmtouch -dl " + f.Path
	}
	return []Advice{a.saving(saves(ownReads, share, share-0.05, share+0.02, c.w.Source(sample.CacheMisses)), "")}
}

// lessAhead is a smaller read-ahead, where some of it is never used.
func (c *Case) lessAhead(v *cacheView) []Advice {
	s := c.unread(v, 1)
	if s.Share < worthKeeping {
		return nil
	}
	s.Low = 0
	a := wayToKeep(predict.LessAhead(percent(s.Share)))
	a.Expect = fmt.Sprintf("saves at most %s of %s, and the room that it takes in the cache; %s", percent(s.Share), s.Of, a.Expect)
	a.Command = c.readAheadCommand(16)
	return []Advice{a}
}

// lessElse is other memory of the host that settings can make smaller in favour of
// files; a cgroup's own cannot.
func (c *Case) lessElse(v *cacheView, cgroup string) []Advice {
	var out []Advice
	say := func(held float64, way predict.Way) {
		s, _ := c.freed(v, "", held)
		if s == nil || s.High < worthKeeping {
			return
		}
		a := wayToKeep(way)
		a.Expect = fmt.Sprintf("saves at most %s of %s, if all of the %s go; %s", percent(s.High), s.Of, bytes(held), a.Expect)
		out = append(out, a)
	}
	if cgroup != "" {
		return nil
	}
	anon, _ := c.gauge(sample.MemAnon)
	if swap, _ := c.gauge(sample.SwapFree); swap > 0 {
		say(min(anon, swap), predict.Swap())
	}
	slab, _ := c.gauge(sample.MemSlab)
	say(slab, predict.DropInodes())
	return out
}
