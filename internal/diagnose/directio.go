package diagnose

import (
	"fmt"
	"math"

	"iocause/internal/sample"
)

// Shares of bytes read with O_DIRECT that had been read before in the window.
const (
	directAgainLimit = 0.20 // from here on the cache would have served them
	directAgainDoubt = 0.08 // below it would not
)

// repeatsLimit is how many pages read twice make an estimate: it is wrong by
// about one part in their square root.
const repeatsLimit = 25

// directIO: data that would fit the cache is read past it.
func directIO() Cause {
	return Cause{
		ID: DirectIO, Title: "the same data is read again and again past the cache (O_DIRECT)",
		Needs: [][]sample.Metric{{sample.BlockDirect}, {sample.MemAvailable}},
		Over:  append(deviceCauses(), ColdCache),
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.BlockDirect) {
				return cannotTell(c.w.WhyAbsent(sample.BlockDirect))
			}
			if !c.suffers() {
				return no("no program waits for I/O long enough to matter")
			}
			direct := c.of(sample.BlockDirect)
			cached := (c.of(sample.CacheMisses) + c.of(sample.CacheMappedMisses)) * pageSize
			if direct == 0 {
				return no("the victim reads nothing with O_DIRECT")
			}
			if direct < cached {
				return no("the victim reads mostly through the cache")
			}
			d, room := c.directSet(), c.room()
			if !room.known {
				return cannotTell(room.why)
			}
			if d.ordered() {
				switch {
				case d.share < directAgainDoubt:
					return no(fmt.Sprintf("only %s of the bytes read with O_DIRECT had been read before in this window, far fewer than with random reads: the access is sequential", percent(d.share)))
				case d.share < directAgainLimit:
					return cannotTell(fmt.Sprintf("only %s of the bytes read with O_DIRECT had been read before: observe longer to see the whole working set", percent(d.share)))
				}
			}
			least, set := d.distinct, d.set()
			switch {
			case least > room.bytes:
				return no(fmt.Sprintf("the %s that were read do not fit into %s", bytes(least), &room))
			case d.repeats < repeatsLimit && d.expected(room.bytes) < repeatsLimit:
				return cannotTell("too little was read with O_DIRECT to tell whether it is re-read: observe longer")
			case d.repeats < repeatsLimit:
				return no(fmt.Sprintf("%.0f pages read with O_DIRECT were read twice: it does not come back to data that would fit into %s", d.repeats, &room))
			case set > room.bytes:
				return no(fmt.Sprintf("what is read with O_DIRECT, about %s, does not fit into %s", bytes(set), &room))
			}
			s, v := c.w.Seconds(), c.cache()
			return Verdict{
				Answer: Yes, Confidence: confidence(1-2/math.Sqrt(d.repeats), true),
				Weight: c.directWeight(), Culprit: c.culprit(),
				Evidence: []Evidence{
					c.figure("read with O_DIRECT", direct/s, "bytes/s", sample.BlockDirect),
					c.figure("of that read before in this window", d.share, "ratio", sample.BlockDirectAgn),
					c.figure("distinct data read", d.distinct, "bytes", sample.BlockDirect),
					c.figure("all of it, estimated from the repeats", set, "bytes", sample.BlockDirectAgn),
					c.figure("memory it may be cached in", room.bytes, "bytes", room.from),
					c.figure("requests in flight", c.victim.outstanding, "count", sample.BlockDeviceTime),
				},
				Disprove: "no block is read twice: the program reads new offsets all the time",
				Advice: []Advice{c.promise(c.cachedInstead(&v)).advise(
					fmt.Sprintf("read through the page cache (without O_DIRECT), or, if the program has a cache of its own (a database's buffer pool, a block cache), raise that cache to about %s: two caches of the same data waste memory", bytes(set)),
					fmt.Sprintf("once all of it has been read, after about %s, reads are served from memory", duration(set/(d.draws*pageSize/s)))).saving(c.cachedOnce(&d, room.bytes), "")},
			}
		},
	}
}

// directSet is what is read past the cache, in bytes but where said.
type directSet struct {
	distinct float64 // read at least once in the window
	repeats  float64 // pages that had been read before
	draws    float64 // pages
	share    float64 // of the bytes, that had been read before
	random   float64 // estimate for reads at random, infinite without repeats
	least    float64 // the same, with as many repeats as chance may have hidden
	files    float64 // sizes of the files, 0 when not known
}

// directSet estimates, from how often the reads of a window come back to what
// they had read, how much there is of it: a longer window sees more of it, and
// says the same. A page counts as read before whoever read it: so others that read the
// victim's files past the cache, too, are part of it.
func (c *Case) directSet() directSet {
	files, readers := map[sample.FileID]bool{}, map[int]bool{c.victim.pid: true}
	c.w.Each(sample.DirectReadBytes, func(e sample.Entity, s *sample.Series) {
		if e.PID == c.victim.pid && e.File != (sample.FileID{}) && s.Sum() > 0 {
			files[e.File] = true
		}
	})
	c.w.Each(sample.DirectReadBytes, func(e sample.Entity, s *sample.Series) {
		if e.PID != 0 && files[e.File] && s.Sum() > 0 {
			readers[e.PID] = true
		}
	})
	var direct, again float64
	for pid := range readers {
		read, _ := c.w.Sum(sample.BlockDirect, sample.Entity{PID: pid})
		before, _ := c.w.Sum(sample.BlockDirectAgn, sample.Entity{PID: pid})
		direct, again = direct+read, again+before
	}
	again = min(again, direct) // of reads smaller than a page, the whole page counts as read before
	d := directSet{distinct: direct - again, repeats: again / pageSize, draws: direct / pageSize, share: again / direct}
	d.random = population(d.distinct/pageSize, d.draws) * pageSize
	// A request comes back as a whole, so that what counts for chance is how many of
	// those did: by two standard deviations.
	missed := 2 * math.Sqrt(d.repeats*c.pagesOfRead())
	d.least = population(max(0, d.distinct/pageSize-missed), d.draws) * pageSize
	for f := range files {
		d.files += max(0, float64(c.w.Files[f].Size))
	}
	return d
}

// pagesOfRead is how long a read request of the victim is, 1 or more.
func (c *Case) pagesOfRead() float64 {
	var moved, n float64
	c.w.Each(sample.BlockBytes, func(e sample.Entity, s *sample.Series) {
		if e.PID == c.victim.pid && e.Class == sample.ClassRead {
			moved += s.Sum()
			ops, _ := c.w.Sum(sample.BlockOps, e)
			n += ops
		}
	})
	return max(1, moved/pageSize/max(n, 1))
}

// expected is how many pages reads at random in so many bytes would meet twice.
func (d *directSet) expected(size float64) float64 {
	if d.files > 0 {
		size = min(size, d.files)
	}
	pages := max(1, size/pageSize)
	return d.draws + pages*math.Expm1(-d.draws/pages)
}

// ordered tells of reads that meet far fewer pages twice than reads at random
// in their files would: they go through them in some order.
func (d *directSet) ordered() bool {
	return d.files > 0 && d.expected(d.files) >= repeatsLimit && d.least > extrapolate*d.files
}

// set is all that is read, with what the window did not see.
func (d *directSet) set() float64 {
	if d.files > 0 && d.random > d.files {
		return max(d.distinct, d.files)
	}
	return d.random
}

// cachedInstead is what goes away when all that is read past the cache is found
// in it.
func (c *Case) cachedInstead(v *cacheView) removal {
	r := removal{kernel: true, copies: c.of(sample.BlockDirect)}
	if c.neverBlocks() {
		r.sure = c.inFlight()
		return r
	}
	r.sure = c.directWeight() * c.waiting()
	r.maybe = c.victim.waitIO() - r.sure
	return r
}

// cachedOnce is what is no longer read from disk once all that is read past the cache
// has been read through it: all, where as much as it may be fits, and what fits of it
// where not. Of the estimate, as many repeats as chance may have added are taken off.
func (c *Case) cachedOnce(d *directSet, room float64) *Saves {
	most := d.set() / (1 - min(0.5, 2/math.Sqrt(max(1, d.repeats))))
	if d.files > 0 {
		most = min(most, max(d.distinct, d.files))
	}
	return saves(ownReads, 1, min(1, fitsShare*room/max(most, 1))-0.02, 1, c.w.Source(sample.BlockDirectAgn))
}
