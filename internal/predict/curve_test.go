package predict

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// pattern is a load: which page it asks for next.
type pattern func(r *rand.Rand, i int) int

func uniform(pages int) pattern { return func(r *rand.Rand, _ int) int { return r.IntN(pages) } }

func loop(pages int) pattern { return func(_ *rand.Rand, i int) int { return i % pages } }

func zipf(pages int, s float64) pattern {
	sums := make([]float64, pages)
	total := 0.0
	for i := range sums {
		total += math.Pow(float64(i+1), -s)
		sums[i] = total
	}
	at := rand.New(rand.NewPCG(7, 7)).Perm(pages)
	return func(r *rand.Rand, _ int) int {
		x, low, high := r.Float64()*total, 0, pages-1
		for low < high {
			if mid := (low + high) / 2; sums[mid] < x {
				low = mid + 1
			} else {
				high = mid
			}
		}
		return at[low]
	}
}

// mix takes turns: every nth is of b, on pages behind those of a.
func mix(a pattern, pages int, b pattern, n int) pattern {
	return func(r *rand.Rand, i int) int {
		if i%n == 0 {
			return pages + b(r, i/n)
		}
		return a(r, i-i/n-1)
	}
}

// run lets a whole cache of a size see a load, after it was filled, and returns
// what is seen of it and its hit ratio meanwhile.
func run(next pattern, pages, room, n int) (t *Trace, act, hit float64) {
	return runLagging(next, pages, room, n, 0)
}

// runLagging is the same where reclaim is told how long the lists are each time that so
// many pages came in.
func runLagging(next pattern, pages, room, n, lags int) (t *Trace, act, hit float64) {
	c := newTwoList(pages, room, 1, false)
	c.lags = lags
	return runIn(c, func() int { return c.lengths[activeList] }, next, pages, room, n)
}

// runIn is the same in a cache whose active list is so long.
func runIn(c cache, active func() int, next pattern, pages, room, n int) (t *Trace, act, hit float64) {
	r := rand.New(rand.NewPCG(3, 5))
	t = &Trace{Pages: pages, Scale: 1, Length: time.Minute, Asked: []Total{{0, 0}, {60000, uint64(n)}}}
	hits, i := 0, 0
	for ; i < 3*n; i++ {
		p := uint32(next(r, i))
		if i == 2*n {
			act = float64(active()) / float64(room)
		}
		seen := i >= 2*n
		at := uint32(60000 * (i - 2*n) / n)
		if c.has(p) {
			if seen {
				hits++
			}
		} else {
			was := make([]uint32, 0, 1)
			for c.full() {
				was = append(was, c.evict())
			}
			c.insert(p, false)
			if seen {
				for _, e := range was {
					t.Events = append(t.Events, Event{Page: e, At: at, Kind: Evicted})
				}
				t.Events = append(t.Events, Event{Page: p, At: at, Kind: Added})
			}
		}
		c.mark(p)
		if seen {
			t.Events = append(t.Events, Event{Page: p, At: at, Kind: Read, Asked: true})
		}
	}
	return t, act, float64(hits) / float64(n)
}

// sampled is one page of each run of them.
func sampled(t *Trace, scale int) *Trace {
	chosen := func(p uint32) bool {
		h := (uint64(p)/uint64(scale) + 1) * 0x9E3779B97F4A7C15
		h = (h ^ h>>33) * 0xff51afd7ed558ccd
		return uint64(p)%uint64(scale) == (h>>33)%uint64(scale)
	}
	return t.Thinner(chosen, scale)
}

// Which of the two rules the kernel follows is told by what it does.
func TestFollowsTheKernel(t *testing.T) {
	const room, n = 4096, 200000
	load := mix(uniform(room*3/4), room*3/4, loop(9*room/4), 3)
	for _, lags := range []int{0, 4000} {
		trace, act, now := runLagging(load, 3*room, room, n, lags)
		c, err := Work(trace, Setting{Memory: room * PageSize, Cache: room * PageSize, Room: room * PageSize, Active: act}, []int64{room * PageSize})
		if err != nil {
			t.Fatal(err)
		}
		if c.lags != (lags > 0) || math.Abs(c.Model-now) > 0.01 {
			t.Errorf("told every %d pages: found to be told late: %v; hit ratio %.3f by the model, really %.3f", lags, c.lags, c.Model, now)
		}
	}
}

// loads are what curves are held against, for a cache of so many pages.
func loads(room int) map[string]struct {
	next  pattern
	pages int
} {
	return map[string]struct {
		next  pattern
		pages int
	}{
		"uniform":       {uniform(3 * room), 3 * room},
		"zipf 0.9":      {zipf(6*room, 0.9), 6 * room},
		"zipf 1.2":      {zipf(6*room, 1.2), 6 * room},
		"loop":          {loop(3 * room / 2), 3 * room / 2},
		"zipf and scan": {mix(zipf(2*room, 1), 2*room, loop(4*room), 4), 6 * room},
	}
}

// What a sample of what one cache sees says of others is what those do, within
// the interval that is stated.
func TestCurveAgainstWholeCaches(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures")
	}
	const room, n = 4096, 100000
	inside, all := 0, 0
	for name, load := range loads(room) {
		trace, act, now := run(load.next, load.pages, room, n)
		truths := map[int64]float64{}
		for _, scale := range []int{1, 4} {
			thin := sampled(trace, scale)
			memory := int64(room * PageSize)
			sizes := []int64{memory / 4, memory / 2, memory * 3 / 4, memory, memory * 3 / 2, memory * 2, memory * 4}
			c, err := Work(thin, Setting{Memory: memory, Cache: memory, Room: memory, Active: act}, sizes)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if math.Abs(c.Now-now) > 0.03 {
				t.Errorf("%s, one page in %d: hit ratio %.3f is seen, %.3f is right", name, scale, c.Now, now)
			}
			for i, m := range sizes {
				if scale == 1 {
					_, _, truths[m] = run(load.next, load.pages, int(m/PageSize), n)
				}
				truth := truths[m]
				x := c.Points[i]
				t.Logf("%-14s 1/%d %5.2fx: %.3f (%.3f to %.3f; LRU %.3f), truth %.3f %v", name, scale, float64(m)/float64(memory), x.Hit, x.Low, x.High, x.LRU, truth, x.Open)
				all++
				if truth >= x.Low-0.002 && truth <= x.High+0.002 {
					inside++
				}
				if most := 0.03; math.Abs(x.Hit-truth) > most && !x.Open {
					t.Errorf("%s, one page in %d, %.2fx: %.3f, truth %.3f", name, scale, float64(m)/float64(memory), x.Hit, truth)
				}
			}
		}
	}
	if inside*100 < 90*all {
		t.Errorf("%d of %d intervals hold", inside, all)
	}
}

// There is no curve where nothing is known.
func TestTooLittle(t *testing.T) {
	s := Setting{Memory: 1 << 30, Cache: 1 << 29, Room: 1 << 29}
	faults := make([]Event, 1000)
	for i := range faults {
		faults[i] = Event{Page: uint32(i), Kind: Faulted, Asked: true}
	}
	for want, events := range map[error][]Event{ErrNothing: nil, ErrFew: {{Kind: Read, Asked: true}}, ErrMapped: faults} {
		if _, err := Work(&Trace{Events: events, Pages: 1000, Scale: 1, Length: time.Second}, s, Sizes(s.Memory, nil)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// Distances are those of a list that is searched.
func TestDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, pages := range []int{1, 50, 1000} {
		s := newStack(pages)
		var list []uint32
		for i := range 100 * pages {
			p := uint32(r.IntN(pages))
			want := slices.Index(list, p)
			if got := s.distance(p); got != want {
				t.Fatalf("step %d of %d pages: distance %d, want %d", i, pages, got, want)
			}
			if want >= 0 {
				list = slices.Delete(list, want, want+1)
			}
			if r.IntN(20) == 0 {
				s.forget(p)
				continue
			}
			s.use(p)
			list = slices.Insert(list, 0, p)
		}
	}
}

// BenchmarkWork works 17 sizes and exact LRU out for 10 million accesses of 16,384 pages
// of which the cache holds half.
func BenchmarkWork(b *testing.B) {
	const pages, n = 16384, 10_000_000
	t, act, _ := run(zipf(pages, 0.8), pages, pages/2, n/2)
	for len(t.Events) < n { // hits and misses make about one and a half events each
		t.Events = append(t.Events, t.Events[:min(len(t.Events), n-len(t.Events))]...)
	}
	t.Events = t.Events[:n]
	for i := range t.Events {
		t.Events[i].At = uint32(int64(i) * 60000 / n)
	}
	t.Asked = nil
	s := Setting{Memory: pages / 2 * PageSize, Cache: pages / 2 * PageSize, Room: pages / 2 * PageSize, Active: act}
	for b.Loop() {
		if _, err := Work(t, s, Sizes(s.Memory, nil)); err != nil {
			b.Fatal(err)
		}
	}
}

// Pages come in when they are asked for; what came in and was never asked for is left
// out, with its eviction.
func TestUsed(t *testing.T) {
	at := uint32(0)
	e := func(page uint32, kind Kind) Event {
		at++
		return Event{Page: page, Kind: kind, Asked: true, At: at}
	}
	read, added, written := e(0, Read), e(2, Added), e(1, Added)
	tr := &Trace{Pages: 4, Events: []Event{read, e(1, Added), added, e(2, Read), e(1, Evicted), e(2, Evicted), written, e(1, Written), e(3, Added), e(0, Evicted)}}
	ev := tr.Events
	added.At, written.At = ev[3].At, ev[7].At
	want := []Event{read, added, ev[3], ev[5], written, ev[7], ev[9]}
	if got := tr.Used(); !slices.Equal(got.Events, want) || len(tr.Events) != 10 {
		t.Errorf("%+v, want %+v", got.Events, want)
	}
}

// Totals that lack those who asked are not divided by: nothing is said to be a hit for it,
// and no figure is infinite.
func TestTotalsThatLackReaders(t *testing.T) {
	const room, n = 4096, 30_000
	trace, act, now := run(uniform(3*room), 3*room, room, n)
	for name, asked := range map[string][]Total{
		"none": {{0, 0}, {30_000, 0}, {60_000, 0}}, "few": {{0, 0}, {30_000, n / 40}, {60_000, n / 20}}, "the first half": {{0, 0}, {30_000, n / 2}, {60_000, n / 2}},
	} {
		trace.Asked = asked
		c, err := Work(trace, Setting{Memory: room * PageSize, Cache: room * PageSize, Room: room * PageSize, Active: act}, Sizes(room*PageSize, nil))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.Now-now) > 0.02 || c.Asked < 0.9*n/60 {
			t.Errorf("%s: hit ratio %.3f of %.0f pages a second, really %.3f of %d", name, c.Now, c.Asked, now, n/60)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where the cache is smaller than what one watched page stands for, it holds one.
func TestWithoutACache(t *testing.T) {
	trace, _, _ := run(uniform(1000), 1000, 500, 1000)
	for _, lists := range []Lists{TwoLists, MGLRU, MGLRUSince614} {
		s := Setting{Memory: 1000 * PageSize, Room: 1000 * PageSize, Lists: lists}
		c, err := Work(trace, s, Sizes(s.Memory, nil))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan Point)
		go func() {
			x, _ := c.Without(trace, trace, s, s.Room/2)
			done <- x
		}()
		select {
		case x := <-done:
			if !(x.Hit >= 0 && x.Hit <= 1) {
				t.Errorf("lists %d: %+v", lists, x)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("lists %d: it does not end", lists)
		}
	}
}

// A cache that became smaller in the window is not another's.
func TestShrunkCacheIsItsOwn(t *testing.T) {
	const pages, left = 3000, 1000
	trace := &Trace{Pages: pages, Scale: 1, Length: time.Minute}
	for i := range pages {
		trace.Events = append(trace.Events, Event{Page: uint32(i), At: uint32(i * 20), Kind: Read, Asked: true})
	}
	s := Setting{Memory: pages * PageSize, Cache: left * PageSize, Room: pages * PageSize}
	for name, gone := range map[string]int{"evicted": pages - left, "all there": 0} {
		for i := range gone {
			trace.Events = append(trace.Events, Event{Page: uint32(i), At: 59_999, Kind: Evicted})
		}
		c, err := Work(trace, s, []int64{s.Memory})
		if err != nil {
			t.Fatal(err)
		}
		trace.Events = trace.Events[:pages]
		if has := c.Elsewhere > 0; has != (gone == 0) {
			t.Errorf("%s: %.0f pages are another's", name, c.Elsewhere/PageSize)
		}
	}
}
