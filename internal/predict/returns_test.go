package predict

import (
	"math"
	"math/rand/v2"
	"testing"
)

// watch plays reads in a cache that evicts what came in first or was used last, and
// notes how far away the pages had been that come back: in evictions.
func watch(room int, reads func() int, n int, recent bool) *Returns {
	const pages = 1 << 16
	r := &Returns{}
	at := map[uint64]float64{} // distances
	var evicted [pages]uint64
	var used [pages]int
	var in [pages]bool
	var queue []struct{ page, used int }
	age, held, began := uint64(1), 0, uint64(0) // began: evictions before somebody looked
	for i := range n {
		p := reads()
		if recent || !in[p] {
			used[p] = i + 1
			queue = append(queue, struct{ page, used int }{p, i + 1})
		}
		if in[p] {
			continue
		}
		if i > n/2 { // it has filled
			r.Read++
			if r.Evicted = float64(age - 1 - began); evicted[p] > began {
				at[age-evicted[p]-1]++
			}
		} else {
			began = age - 1
		}
		in[p] = true
		for held++; held > room; {
			old := queue[0]
			queue = queue[1:]
			if in[old.page] && used[old.page] == old.used {
				in[old.page], evicted[old.page] = false, age
				age++
				held--
			}
		}
	}
	for d, n := range at {
		r.Away = append(r.Away, Away{float64(d), float64(d) + 1, n})
		r.Events += n
	}
	r.Horizon = r.Evicted
	return r
}

// misses is how much of what is read is not in the cache.
func misses(room int, reads func() int, n int) float64 {
	r := watch(room, reads, n, true)
	return r.Read / float64(n/2)
}

// What refault distances say of larger caches is what these do.
func TestSavedByMoreMemory(t *testing.T) {
	uniform := func() func() int {
		g := rand.New(rand.NewPCG(1, 2))
		return func() int { return g.IntN(4000) }
	}
	zipf := func() func() int {
		z := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.1, 8, 9999)
		return func() int { return int(z.Uint64()) }
	}
	loop := func() func() int {
		i := -1
		return func() int { i++; return i % 3000 }
	}
	beside := func() func() int { // of a loop, and a scan of what is read once
		i, once, all := -1, 20000, loop()
		return func() int {
			if i++; i%4 == 0 {
				once = 20000 + (once-20000+1)%40000
				return once
			}
			return all()
		}
	}
	const n, room = 100_000, 2000
	for name, load := range map[string]func() func() int{"uniform": uniform, "zipf": zipf, "loop": loop, "loop and scan": beside} {
		t.Run(name, func(t *testing.T) {
			r := watch(room, load(), n, true)
			if !r.Enough() {
				t.Fatalf("%g came back: not enough", r.Events)
			}
			now := misses(room, load(), n)
			for _, more := range []int{200, 700, 1500, 2100, 5000} {
				truth := 1 - misses(room+more, load(), n)/now
				s := r.Saved(float64(more))
				if math.Abs(s.Value-truth) > 0.05 && (truth < s.Low || truth > s.High) {
					t.Errorf("%d pages more save %.3f, predicted %.3f (%.3f to %.3f)", more, truth, s.Value, s.Low, s.High)
				}
			}
		})
	}
	// all of the loop fits into 1,000 more, and of what is uniform into 2,000 more
	for want, load := range map[float64]func() func() int{1000: loop, 2000: uniform} {
		if got := watch(room, load(), n, true).Room(1); math.Abs(got-want) > 0.05*want {
			t.Errorf("it needs %.0f pages more, want %.0f", got, want)
		}
	}
	// and so it is where the kernel's rules are others
	if got := watch(room, uniform(), n, false).Room(1); math.Abs(got-2000) > 100 {
		t.Errorf("first in, first out: it needs %.0f pages more, want 2000", got)
	}
}

// What is further away than somebody looked is not known, and not guessed.
func TestSavedWithinTheHorizon(t *testing.T) {
	// looked for 4,000 evictions: of those from 3,000 away only the first quarter can be seen to come back
	r := Returns{Away: []Away{{3000, 3001, 500}}, Events: 500, Evicted: 4000, Horizon: 4000, Read: 4000}
	if got := r.Back(); math.Abs(got-0.5) > 0.01 {
		t.Errorf("%g of what is evicted comes back, want half", got)
	}
	if got := r.Room(1); math.Abs(got-3000) > 1 {
		t.Errorf("it needs %g pages more, want 3000", got)
	}
	if s := r.Saved(3200); s.Value < 0.49 || s.Value > 0.51 || s.High > 0.6 {
		t.Errorf("%+v, want half", s)
	}
	if s := r.Saved(1500); s.Value != 0 || s.Low != 0 {
		t.Errorf("%+v, want nothing", s)
	}
	// with a longer past all are seen
	r.Evicted, r.Horizon, r.Away[0].Pages = 4000, 40000, 2000
	if got := r.Back(); math.Abs(got-0.5) > 0.01 {
		t.Errorf("%g of what is evicted comes back, want half", got)
	}
	far := Returns{Away: []Away{{3500, 3501, 400}}, Events: 400, Evicted: 4000, Horizon: 4000, Read: 4000}
	if got := far.Back(); got != 0 {
		t.Errorf("%g comes back from where next to nothing is seen", got)
	}
	// more is evicted in the time than can be looked back: read ahead that is evicted
	// before it is used comes back at once, and the rest from as far as the file is too large
	much := Returns{Away: []Away{{10, 12, 700_000}, {100_000, 100_002, 260_000}}, Events: 60_000, Evicted: 1_000_000, Horizon: 400_000, Read: 1_000_000}
	if s := much.Saved(1000); math.Abs(s.Value-0.7) > 0.01 || s.High > 0.75 {
		t.Errorf("%+v, want 0.7", s)
	}
	if got := much.Room(0.98); got < 25_000 || got > 35_000 {
		t.Errorf("it needs %g pages more, want the 0.3 of the 100,000 evictions that stay away", got)
	}
	if few := (Returns{Away: []Away{{1, 2, 10}}, Events: 10, Evicted: 10, Read: 10}); few.Enough() {
		t.Error("too little is enough")
	}
}
