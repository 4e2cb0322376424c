package diagnose

import (
	"fmt"
	"math"

	"iocause/internal/predict"
	"iocause/internal/sample"
)

// Saves is what a change does for what is read from disk. The shares are of those
// reads, 0 to 1; Low and High are meant to hold in nine cases of ten.
type Saves struct {
	Of     string  `json:"of"`                   // which reads
	Memory float64 `json:"more_bytes,omitempty"` // in addition to what there is, where that is the change
	Share  float64 `json:"share"`
	Low    float64 `json:"share_low"`
	High   float64 `json:"share_high"`
	Half   float64 `json:"half_at_more_bytes,omitempty"` // what saves half as much; left out where that needs nearly as much
	Source string  `json:"source"`
}

// returns is what came back after it had been evicted from a cgroup's cache, or from
// all ("/"), and how far away it had been; why says why that is not known. It must be
// most of what the kernel says to have been evicted before: what was evicted before
// anybody looked came from further away than this window can tell.
func (c *Case) returns(v *cacheView, cgroup string) (r predict.Returns, why string) {
	if c.w.Told {
		return r, ofText // as the promise says
	}
	if !c.w.Has(sample.RefaultPages) {
		return r, c.w.WhyAbsent(sample.RefaultPages)
	}
	c.w.Each(sample.RefaultPages, func(e sample.Entity, s *sample.Series) {
		if d, is := sample.ParseDistance(e.Class); is && e.Cgroup == cgroup {
			r.Away = append(r.Away, predict.Away{Low: float64(d.Low), High: float64(d.High), Pages: s.Sum()})
			r.Events += s.Sum() / refaultsWatched
		}
	})
	r.Evicted, _ = c.w.Sum(sample.RefaultEvicted, sample.Entity{Cgroup: cgroup})
	r.Horizon, _ = c.w.Value(sample.RefaultHorizon, sample.Entity{Cgroup: cgroup})
	if r.Read = c.insertedIn(cgroup); cgroup == "/" {
		all, _ := c.all(sample.CacheInserted)
		written, _ := c.all(sample.CacheWriteAlloc)
		r.Read = all - written
	}
	r.Read, r.All = max(r.Read, 0), v.refault
	switch {
	case r.Evicted == 0:
		return r, "the pages that were evicted belong to cgroups below it"
	case !r.Enough():
		return r, "too few pages were seen to come back: observe for longer (--duration)"
	case r.Back()*r.Evicted/r.Read < mostOfIt*v.refault:
		return r, "most of what came back had been evicted before the observation: observe for longer (--duration)"
	}
	return r, ""
}

const (
	refaultsWatched = 16   // one page in so many is watched
	mostOfIt        = 0.85 // of what the kernel says came back
)

// enoughOfIt is the share of what comes back that is worth its memory: the last few
// percent are read once in a long while.
const enoughOfIt = 0.98

// larger is the advice to have more memory for a cache, where it is known how far
// away the pages had been that came back: so much that nearly all of them stay, or
// what there is of it. most bounds it, 0 where nothing does. do is told how much
// more that is, in bytes; expect follows what it saves.
func (c *Case) larger(v *cacheView, r *predict.Returns, most float64, do func(more float64) string, expect string) Advice {
	more := headroom * r.Room(enoughOfIt) * pageSize
	if most > 0 {
		more = min(more, most)
	}
	s := c.savedBy(r, more)
	if half := r.Room(s.Share*r.Read/r.Evicted/r.Back()/2) * pageSize; half < 0.9*more {
		s.Half = half
		expect = fmt.Sprintf("%s more would save about half of that; %s", bytes(half), expect)
	}
	return c.promise(c.servedFromMemory(v, min(v.refault, s.Low))).advise(do(more), expect).saving(s, "")
}

// Which reads are meant.
const (
	diskReads = "the disk reads"
	ownReads  = "its disk reads"      // of the victim
	bytesRead = "what the disk reads" // read-ahead included
)

// String says it to people.
func (s *Saves) String() string {
	if s.Share == s.Low {
		return fmt.Sprintf("saves %.0f to %s of %s", math.Floor(100*s.Low), percent(s.High), s.Of)
	}
	return fmt.Sprintf("saves %s (%.0f to %s) of %s", percent(s.Share), 100*s.Low, percent(s.High), s.Of)
}

// saving puts what is saved before what else to expect, or why that is not known
// behind it.
func (a Advice) saving(s *Saves, why string) Advice {
	switch {
	case s != nil:
		a.Saves, a.Expect = s, s.String()+"; "+a.Expect
	case why != "" && why != ofText:
		a.Expect += "; what it saves of the disk reads is not known: " + why
	}
	return a
}

// saves makes one, in order and between 0 and 1.
func saves(of string, share, low, high float64, source string) *Saves {
	share = clamp01(share)
	return &Saves{Of: of, Share: share, Low: min(share, clamp01(low)), High: max(share, clamp01(high)), Source: source}
}

// freed is what so much more room for the cache saves, in a cgroup ("": the host),
// nil where that is not known; why says why.
func (c *Case) freed(v *cacheView, cgroup string, bytes float64) (s *Saves, why string) {
	if cgroup == "" {
		cgroup = "/"
	}
	r, why := c.returns(v, cgroup)
	if why != "" {
		return nil, why
	}
	return c.savedBy(&r, bytes), ""
}

// savedBy is what so many bytes more for the cache save, by what came back.
func (c *Case) savedBy(r *predict.Returns, more float64) *Saves {
	x := r.Saved(more / pageSize)
	s := saves(diskReads, x.Value, x.Low, x.High, c.w.Source(sample.RefaultPages))
	s.Memory = more
	return s
}
