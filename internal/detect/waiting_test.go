package detect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// waiting gives the work of one group, window by window of ten seconds, and tells
// in which of them it waited far more than it did.
func waiting(w *Works, at time.Time, did []Did) (out []int, locks bool) {
	for i, d := range did {
		at = at.Add(10 * time.Second)
		if _, waits := w.Add(at, 10*time.Second, map[Group]Did{{"db", "/db"}: d}); len(waits) > 0 {
			out, locks = append(out, i), waits[0].Locks
		}
	}
	return out, locks
}

func TestGroupsThatWait(t *testing.T) {
	busy := Did{Chars: 1e6, CPU: 0.2, Got: 1e6, Waits: 0.2}
	slow := Did{Chars: 5e5, CPU: 0.1, Got: 5e5, Waits: 2}
	more := Did{Chars: 2e6, CPU: 0.4, Got: 2e6, Waits: 2}
	locked := Did{Chars: 1e6, CPU: 0.2, Got: 1e6, Waits: 8, Locks: 8}
	crawls := Did{Chars: 1.5e5, CPU: 0.01, Got: 1.5e5, Waits: 3}
	one := Did{Chars: 2e4, CPU: 0.01, Got: 2e4, Waits: 1}
	cached, cold := Did{Chars: 3e8, CPU: 0.7, Got: 3e8, Waits: 0.1}, Did{Chars: 6e7, CPU: 0.1, Got: 6e7, Waits: 0.9}
	files, dirs := Did{Chars: 2e6, CPU: 0.03, Got: 2e6, Waits: 0.96}, Did{Chars: 2e4, CPU: 0.02, Got: 4e5, Waits: 0.97}
	synced := Did{Waits: 1, Locks: 1}
	for _, c := range []struct {
		name        string
		did         []Did
		from, until int // window in which it is told first, at the latest; -1: never
		locks       bool
	}{
		{"ten times as long, at half the work", append(repeat(200, busy), repeat(30, slow)...), 200, 220, false},
		{"the same, known for ten minutes", append(repeat(60, busy), repeat(30, slow)...), -1, 0, false},
		{"ten times as long, at twice the work", append(repeat(200, busy), repeat(30, more)...), -1, 0, false},
		{"twice as long", append(repeat(200, slow), repeat(30, Did{Chars: 3.5e5, CPU: 0.1, Got: 3.5e5, Waits: 4})...), -1, 0, false},
		{"for two minutes, as a service that starts", append(append(repeat(200, busy), repeat(12, slow)...), repeat(30, busy)...), -1, 0, false},
		{"now and then for a minute", repeat(360, append(repeat(30, busy), repeat(6, slow)...)...), -1, 0, false},
		{"a lock of the kernel, at the same work", append(repeat(60, busy), repeat(6, locked)...), 60, 65, true},
		{"the same, within the first minutes", append(repeat(12, busy), repeat(6, locked)...), 12, 17, true},
		{"a lock as always", repeat(100, locked), -1, 0, false},
		{"two threads at a lock", append(repeat(60, busy), repeat(20, Did{Chars: 1e6, CPU: 0.2, Got: 1e6, Waits: 2, Locks: 2})...), -1, 0, false},
		{"gets next to nothing, within the first minutes", append(repeat(12, busy), repeat(6, crawls)...), 12, 17, false},
		{"one thread that crawls", append(repeat(12, busy), repeat(6, one)...), 12, 17, false},
		{"crawls as always", repeat(100, crawls), -1, 0, false},
		{"a stranger of which each thread waits a second for a page", repeat(6, Did{Chars: 2e4, CPU: 0.01, Got: 2e4, Waits: 6}), 0, 5, false},
		{"a stranger that syncs each commit", repeat(60, Did{Chars: 1e6, CPU: 0.1, Got: 1e6, Waits: 30, Locks: 30}), -1, 0, false},
		{"backup", slices.Concat(repeat(60, cached), repeat(60, cold), repeat(60, files), repeat(60, dirs), repeat(6, synced)), -1, 0, false},
		{"backup that has read for long", slices.Concat(repeat(100, cached, cold), repeat(60, files), repeat(60, dirs), repeat(6, synced)), -1, 0, false},
		{"a job of files in the cache that syncs", append(repeat(60, cached), repeat(6, synced)...), -1, 0, false},
	} {
		got, locks := waiting(NewWorks(), time.Unix(1e9, 0), c.did)
		switch {
		case c.from < 0 && len(got) > 0, c.from >= 0 && len(got) == 0:
			t.Errorf("%s: told in %v", c.name, got)
		case c.from >= 0 && (got[0] < c.from || got[0] >= c.until || locks != c.locks):
			t.Errorf("%s: told in window %d, locks %v; want from %d, before %d, locks %v", c.name, got[0], locks, c.from, c.until, c.locks)
		}
	}
}

// What lasts for an hour is the new normal.
func TestWaitsThatLast(t *testing.T) {
	got, _ := waiting(NewWorks(), time.Unix(1e9, 0), append(repeat(200, Did{Chars: 1e6, CPU: 0.2, Got: 1e6, Waits: 0.2}), repeat(1000, Did{Chars: 5e5, CPU: 0.1, Got: 5e5, Waits: 2})...))
	if last := got[len(got)-1]; last < 500 || last > 570 || len(got) < 300 {
		t.Errorf("told %d times, last in window %d; want an hour from 200 on", len(got), last)
	}
}

// It is so, too, of threads that hang and that nothing else is known of, and of a
// group that hangs: in the next hour these are no strangers.
func TestThreadsThatHangForEver(t *testing.T) {
	hang := Did{Waits: 5}
	for _, c := range []struct {
		name  string
		did   []Did
		quiet int // from this window on none is told,
		again int // but for this one on; -1: never
	}{
		{"strangers", repeat(1500, hang), 370, -1},
		{"a group that worked", append(repeat(200, Did{Chars: 1e6, CPU: 0.2, Got: 1e6, Waits: 0.2}), repeat(1500, hang)...), 570, -1},
		{"strangers, then more of them", append(repeat(1000, hang), repeat(30, Did{Waits: 12})...), 370, 1000},
		{"strangers, then one more", append(repeat(1000, hang), repeat(30, Did{Waits: 6})...), 370, -1},
	} {
		got, _ := waiting(NewWorks(), time.Unix(1e9, 0), c.did)
		late := slices.DeleteFunc(got, func(i int) bool { return i < c.quiet })
		if again := len(late) > 0; again != (c.again >= 0) || again && (late[0] < c.again || late[0] > c.again+6) {
			t.Errorf("%s: told in windows %v after window %d, want the first at %d", c.name, late, c.quiet, c.again)
		}
	}
}

// What came at this time of the day a day or a week ago is not told again; what
// comes at another time is.
func TestWaitsThatCome(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		told  bool
	}{{24 * time.Hour, false}, {24*time.Hour + 40*time.Minute, false}, {7 * 24 * time.Hour, false}, {30 * time.Hour, true}, {48 * time.Hour, true}} {
		w, at := NewWorks(), time.Unix(1e9, 0)
		course := append(repeat(200, Did{Chars: 1e6, CPU: 0.2, Got: 1e6, Waits: 0.2}), repeat(30, Did{Chars: 5e5, CPU: 0.1, Got: 5e5, Waits: 2})...)
		if got, _ := waiting(w, at, course); len(got) == 0 {
			t.Fatal("not told the first time")
		}
		if got, _ := waiting(w, at.Add(c.after), course); len(got) > 0 != c.told {
			t.Errorf("%v later: told in %v, want %v", c.after, got, c.told)
		}
	}
}

// A window that slides has the quantiles of what is in it.
func TestSliding(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	var s sliding
	var all []float64
	for range 2000 {
		v := float64(float32(math.Floor(20 * random.Float64())))
		s.add(v)
		if all = append(all, v); len(all) > 1+int(50*random.Float64()) {
			s.drop()
			all = all[1:]
		}
		sorted := slices.Sorted(slices.Values(all))
		for _, q := range []float64{0, 0.05, 0.5, 0.95, 1} {
			if got, want := s.quantile(q), sortedQuantile(sorted, q); math.Abs(got-want) > 1e-6 {
				t.Fatalf("%g of %v is %g, want %g", q, all, got, want)
			}
		}
	}
}
