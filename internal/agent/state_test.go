package agent

import (
	"log/slog"
	"testing"
	"time"

	"iocause/internal/source"
	"iocause/internal/store/series"
)

func framesOf(n, values int) []series.Frame {
	s := series.New("x")
	var out []series.Frame
	for i := range n {
		f := series.Frame{At: time.Unix(int64(i), 0)}
		for range values {
			f.Values = append(f.Values, series.Value{Of: s, V: float64(i)})
		}
		out = append(out, f)
	}
	return out
}

func TestRingLosesTheOldestAndSaysSo(t *testing.T) {
	r := newRing(100)
	for _, f := range framesOf(10, 20) {
		r.push(f)
	}
	if waiting, lost := r.waiting(); waiting != 100 || lost != 100 {
		t.Errorf("%d wait and %d were lost, want 100 and 100", waiting, lost)
	}
	if first := r.losses(); !first.Equal(time.Unix(0, 0)) {
		t.Errorf("lost from %v", first)
	}
	if again := r.losses(); !again.IsZero() {
		t.Errorf("the same loss is said twice: %v", again)
	}
	got := r.take(50)
	if len(got) != 3 || got[0].At.Unix() != 5 || got[2].At.Unix() != 7 {
		t.Errorf("took %+v", got)
	}
	if rest := r.take(1000); len(rest) != 2 || rest[1].At.Unix() != 9 {
		t.Errorf("took %+v", rest)
	}
	if waiting, _ := r.waiting(); waiting != 0 || len(r.take(1)) != 0 {
		t.Errorf("%d are left", waiting)
	}
	select {
	case <-r.wake:
	default:
		t.Error("the writer was not woken")
	}
}

func TestGovernor(t *testing.T) {
	cheap, dear := &feed{entry: source.Entry{Name: "cheap"}, base: time.Second}, &feed{entry: source.Entry{Name: "dear"}, base: time.Second}
	cheap.factor.Store(1)
	dear.factor.Store(1)
	g := &governor{cpu: 0.02, kernel: 0.02, memory: 100 << 20, feeds: []*feed{cheap, dear}, log: slog.New(slog.DiscardHandler), spent: map[*feed]int64{}}
	now, u := time.Unix(0, 0), use{resident: 50 << 20}
	look := func(n int, share float64) {
		for range n {
			now = now.Add(lookEvery)
			u.cpu += time.Duration(share * float64(lookEvery))
			cheap.spent.Add(1000)
			dear.spent.Add(5000)
			g.look(now, u)
		}
	}
	factors := func(when string, wantCheap, wantDear int64) {
		t.Helper()
		if cheap.factor.Load() != wantCheap || dear.factor.Load() != wantDear {
			t.Errorf("%s: factors %d and %d, want %d and %d", when, cheap.factor.Load(), dear.factor.Load(), wantCheap, wantDear)
		}
	}
	look(1, 1) // the first look has nothing to compare with
	look(2, 0.05)
	factors("a short peak", 1, 1)
	look(1, 0.01)
	look(2, 0.05)
	factors("another", 1, 1)
	look(1, 0.05)
	factors("three in a row", 1, 2)
	look(12, 0.05)
	factors("for long", 1, 32)
	look(3, 0.05)
	factors("and longer", 2, 32)
	look(30, 0.005)
	factors("calm again", 1, 32)
	look(30, 0.005)
	factors("calmer", 1, 16)
	u.resident = 101 << 20
	look(3, 0.005)
	factors("too much memory", 1, 32)
	if dear.interval() != 32*time.Second {
		t.Errorf("interval %v", dear.interval())
	}
	u.resident = 50 << 20
	look(30, 0.005)
	factors("less memory", 1, 16)
	cheap.kernel.Store(int64(30 * time.Millisecond)) // a second: its kernel programs cost most, whatever else does
	look(3, 0.005)
	factors("too much time in kernel programs", 2, 16)
	cheap.kernel.Store(int64(15 * time.Millisecond))
	look(60, 0.005)
	factors("they take more than half of what they may", 2, 16)
	cheap.kernel.Store(int64(8 * time.Millisecond))
	look(30, 0.005)
	factors("they take less than half", 1, 16)
	cheap.kernel.Store(0)
	look(100, 0.5)
	factors("nothing left to spare", 32, 32)
}
