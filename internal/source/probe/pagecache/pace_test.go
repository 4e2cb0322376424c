package pagecache

import (
	"testing"
	"time"
)

// What is sampled stays so while it goes on, and what is not begins late.
func TestPace(t *testing.T) {
	const above = 200_000
	period := func(rate, inserted float64) activity {
		return activity{calls: rate / 5, accesses: rate / 5, inserted: inserted, length: 200 * time.Millisecond}
	}
	// step is a number of equal periods, and whether reads are sampled after
	// the first of them and after the last.
	type step struct {
		n           int
		a           activity
		first, last bool
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"few", []step{{20, period(above-1, 0), false, false}}},
		{"many", []step{{20, period(above, 0), true, true}}},
		{"many, then fewer", []step{{5, period(above, 0), true, true}, {20, period(above*0.6, 0), true, true}}},
		{"many, then few", []step{{5, period(above, 0), true, true}, {20, period(above*0.4, 0), true, false}, {20, period(above*0.9, 0), false, false}}},
		// a preempted reader makes nothing in most slices and the rest in one
		{"in lumps", []step{{1, period(above, 0), true, true}, {3, period(0, 0), true, true}, {1, period(5*above, 0), true, true},
			{4, period(0, 0), true, true}, {1, period(5*above, 0), true, true}, {4, period(0, 0), true, true}}},
		{"misses", []step{{3, period(above, 0), true, true}, {3, period(above, above/5*0.02), false, false}}},
		{"some misses keep it as it is", []step{{5, period(above, above/5*0.007), false, false}, {1, period(above, 0), true, true},
			{20, period(above, above/5*0.007), true, true}}},
		{"a miss in an empty slice", []step{{3, period(above, 0), true, true}, {1, period(0, 9), true, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pace{above: above, miss: 0.01}
			for i, s := range c.steps {
				got := p.next(s.a)
				if got != s.first {
					t.Errorf("step %d: sampled after a period: %t, want %t", i, got, s.first)
				}
				for range s.n - 1 {
					got = p.next(s.a)
				}
				if got != s.last {
					t.Errorf("step %d: sampled after %d periods: %t, want %t", i, s.n, got, s.last)
				}
			}
		})
	}
}
