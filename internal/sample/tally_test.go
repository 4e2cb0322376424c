package sample

import (
	"strings"
	"testing"
	"time"
)

// A total that begins anew has risen by all that it is; one that falls a little
// was corrected, and what follows counts from its old height on.
func TestTotalsThatFall(t *testing.T) {
	for _, c := range []struct {
		name   string
		totals []float64
		want   []float64 // of each window; -1: nothing
		gaps   int
	}{
		{"begun anew", []float64{100, 40, 45}, []float64{100, 40, 5}, 0},
		{"corrected", []float64{100, 97, 99, 104}, []float64{100, -1, -1, 4}, 1},
		{"corrected twice", []float64{100, 97, 98, 96, 101}, []float64{100, -1, -1, -1, 1}, 2},
		{"added up in another order", []float64{0.1 + 0.2, 0.3, 1.3}, []float64{0.1 + 0.2, -1, 1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Unix(100, 0)
			r := NewRecorder(now)
			e := Entity{PID: 7, Class: "mutex"}
			gaps := 0
			for i, total := range c.totals {
				now = now.Add(time.Second)
				r.At(now)
				r.PutTotal(LockWait, e, total, "here")
				w := r.NextWindow(now)
				got, ok := w.Sum(LockWait, e)
				if ok != (c.want[i] >= 0) || ok && (got < c.want[i]-1e-9 || got > c.want[i]+1e-9) {
					t.Errorf("window %d: %g, %v, want %g", i, got, ok, c.want[i])
				}
				gaps += len(w.Gaps)
				for _, g := range w.Gaps {
					if !strings.HasPrefix(g.Why, "here: lock.wait of process 7 fell from ") {
						t.Errorf("window %d: %q", i, g.Why)
					}
				}
			}
			if gaps != c.gaps {
				t.Errorf("%d gaps, want %d", gaps, c.gaps)
			}
		})
	}
}

// Of many totals that fall, some are named and the others counted.
func TestManyTotalsThatFall(t *testing.T) {
	r := NewRecorder(time.Unix(100, 0))
	for window := range 2 {
		for pid := range 50 {
			r.PutTotal(LockWait, Entity{PID: 1 + pid}, float64(100-window), "here")
		}
		w := r.NextWindow(time.Unix(int64(101+window), 0))
		if window == 1 && (len(w.Gaps) != mostTold+1 || w.Gaps[mostTold].Why != "the same is missing of 47 more totals") {
			t.Errorf("%d gaps: %v", len(w.Gaps), w.Gaps)
		}
	}
}

// Rows that are told for the last time count in their window, at any of its
// ticks, and no total of theirs is kept: neither does the sum of what is left
// seem to fall, nor is what comes later under the same name measured by them.
func TestRowsThatEnd(t *testing.T) {
	now := time.Unix(100, 0)
	r := NewRecorder(now)
	disk, ended := Entity{Device: "vda"}, Entity{PID: 7}
	next := func() *Window {
		now = now.Add(time.Second)
		r.At(now)
		return r.NextWindow(now)
	}
	want := func(w *Window, e Entity, want float64) {
		t.Helper()
		if got, ok := w.Sum(WritebackBytes, e); got != want || ok != (want > 0) {
			t.Errorf("%+v: %g, %v, want %g", e, got, ok, want)
		}
		if len(w.Gaps) > 0 {
			t.Errorf("%v", w.Gaps)
		}
	}
	r.PutTotal(WritebackBytes, disk, 1000, "here") // a file that will be gone
	r.PutTotal(WritebackBytes, disk, 50, "here")   // one that stays
	r.PutTotal(WritebackBytes, ended, 900, "here")
	w := next()
	want(w, disk, 1050)
	want(w, ended, 900)

	r.PutLast(WritebackBytes, disk, 1010, "here") // at a tick
	r.PutLast(WritebackBytes, ended, 905, "here")
	r.PutTotal(WritebackBytes, disk, 57, "here") // where the window ends
	w = next()
	want(w, disk, 17)
	want(w, ended, 5)
	if _, kept := r.totals[of{WritebackBytes, ended}]; kept {
		t.Error("the total of what has ended is kept")
	}

	r.PutTotal(WritebackBytes, disk, 60, "here")
	r.PutTotal(WritebackBytes, ended, 901, "here") // another one with its number
	w = next()
	want(w, disk, 3)
	want(w, ended, 901)

	// A row whose end is told without a total: nobody knows what it rose by.
	r.PutLast(WritebackBytes, ended, 0, "here")
	r.PutLast(WritebackBytes, Entity{PID: 8}, 0, "here") // which nobody had told of
	w = next()
	want(w, ended, 0)
	if len(r.totals) != 1 {
		t.Errorf("%d totals are kept, want that of the disk", len(r.totals))
	}
}
