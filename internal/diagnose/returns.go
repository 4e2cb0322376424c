package diagnose

import (
	"fmt"

	"iocause/internal/predict"
	"iocause/internal/sample"
)

// Saves is what so much more memory does for what is read from disk. The shares are
// of those reads, 0 to 1; Low and High are meant to hold in nine cases of ten.
type Saves struct {
	Memory float64 `json:"more_bytes"` // in addition to what there is
	Share  float64 `json:"share"`
	Low    float64 `json:"share_low"`
	High   float64 `json:"share_high"`
	Half   float64 `json:"half_at_more_bytes,omitempty"` // what saves half as much; left out where that needs nearly as much
	Source string  `json:"source"`
}

// returns is what came back after it had been evicted from a cgroup's cache, or from
// all ("/"), and how far away it had been; ok is false where that is not known, or of
// less than most of what the kernel says to have been evicted before: what was
// evicted before anybody looked came from further away than this window can tell.
func (c *Case) returns(v *cacheView, cgroup string) (r predict.Returns, ok bool) {
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
	return r, r.Enough() && r.Back()*r.Evicted/r.Read >= mostOfIt*v.refault
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
	share := r.Saved(more / pageSize)
	s := &Saves{Memory: more, Share: share.Value, Low: share.Low, High: share.High, Source: c.w.Source(sample.RefaultPages)}
	if half := r.Room(share.Value*r.Read/r.Evicted/r.Back()/2) * pageSize; half < 0.9*more {
		s.Half = half
		expect = fmt.Sprintf("%s more would save about half of that; %s", bytes(half), expect)
	}
	a := c.promise(c.servedFromMemory(v, min(v.refault, s.Low))).advise(do(more), s.String()+"; "+expect)
	a.Saves = s
	return a
}

// String says it to people.
func (s *Saves) String() string {
	return fmt.Sprintf("saves %s (%.0f to %s) of the disk reads", percent(s.Share), 100*s.Low, percent(s.High))
}
