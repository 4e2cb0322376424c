package predict

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// runAhead lets a whole cache of a size see uniform reads of so many pages. A miss behind two
// pages that are cached has another page read, too, that nobody asks for.
func runAhead(pages, room, n int) (t *Trace, hit, disk float64) {
	r := rand.New(rand.NewPCG(3, 5))
	c := newTwoList(2*pages, room, 1, false)
	t = &Trace{Pages: 2 * pages, Scale: 1, Length: time.Minute, Asked: []Total{{0, 0}, {60000, uint64(n)}}}
	hits, came := 0, 0
	for i := range 3 * n {
		p, at, seen := uint32(r.IntN(pages)), uint32(60000*max(0, i-2*n)/n), i >= 2*n
		had, behind := c.has(p), p > 1 && c.has(p-1) && c.has(p-2)
		if had && seen {
			hits++
		}
		for _, x := range []uint32{p, p + uint32(pages)} {
			if had || c.has(x) || x != p && !behind {
				continue
			}
			for c.full() {
				if out := c.evict(); seen {
					t.Events = append(t.Events, Event{Page: out, At: at, Kind: Evicted})
				}
			}
			if c.insert(x, false); seen {
				came++
				t.Events = append(t.Events, Event{Page: x, At: at, Kind: Added})
			}
		}
		if c.mark(p); seen {
			t.Events = append(t.Events, Event{Page: p, At: at, Kind: Read, Asked: true})
		}
	}
	return t, float64(hits) / float64(n), float64(came) / float64(n)
}

// A cache that holds all that is asked for has no misses for which more would be read than
// is asked for.
func TestNothingToReadAheadOf(t *testing.T) {
	const pages, room, n = 4096, 2500, 100000
	trace, _, _ := runAhead(pages, room, n)
	memory := func(pages int) int64 { return int64(pages) * PageSize }
	for _, size := range []int{room, 3400, 4300, 2 * pages} {
		c, err := Work(trace, Setting{Memory: memory(room), Cache: memory(room), Room: memory(room)}, []int64{memory(size)})
		if err != nil {
			t.Fatal(err)
		}
		_, truth, disk := runAhead(pages, size, n)
		// without it, 0.87 of 1.00, and 0.25 from disk
		if x := c.Points[0]; math.Abs(x.Hit-truth) > 0.02 || math.Abs(x.Disk/c.Asked-disk) > 0.04 {
			t.Errorf("%d pages: %.3f (%.3f to %.3f) are hits, really %.3f; %.3f from disk, really %.3f", size, x.Hit, x.Low, x.High, truth, x.Disk/c.Asked, disk)
		}
	}
}
