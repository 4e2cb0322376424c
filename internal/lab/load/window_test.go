package load

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// The windows of all threads add up to the account, and a thread that was
// held up in a call for several windows leaves them empty.
func TestWindowsAddUp(t *testing.T) {
	start := time.Unix(1000, 0)
	w := newWindows(start, time.Second, 2)
	one, other := w.thread(0), w.thread(1)
	at := func(s float64) time.Duration { return time.Duration(s * 1e9) }
	one.add(at(0.5), time.Millisecond, 10)
	one.add(at(1.0), 2*time.Millisecond, 10) // on the edge: of the next window
	other.add(at(0.9), 3*time.Millisecond, 5)
	if len(w.closed) != 0 {
		t.Errorf("%d windows closed while a thread is in the first", len(w.closed))
	}
	other.add(at(4.2), 3*time.Second, 5)
	one.add(at(1.9), time.Millisecond, 10)
	one.finish()
	if len(w.closed) != 4 || len(w.open) != 0 {
		t.Errorf("%d closed, %d open", len(w.closed), len(w.open))
	}
	other.finish()
	s := w.series(4.5)
	var calls []int64
	var bytes int64
	for _, x := range s.Windows {
		calls, bytes = append(calls, x.Calls), bytes+x.Bytes
	}
	want := []int64{2, 2, 0, 0, 1}
	if len(calls) != len(want) || bytes != 40 {
		t.Fatalf("%+v", s.Windows)
	}
	for i := range want {
		if calls[i] != want[i] {
			t.Errorf("window %d: %d calls, not %d", i, calls[i], want[i])
		}
	}
	if x := s.Windows[0]; x.P99 != 0.003 || x.Seconds != 1 {
		t.Errorf("%+v", x)
	}
	if x := s.Windows[4]; x.Seconds != 0.5 || x.Max != 3 {
		t.Errorf("%+v", x)
	}
}

func TestLoadTellsItsWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	r, err := Run(context.Background(), Spec{Kind: "randread", Path: path, Size: 1 << 20, Threads: 3, Rate: 400,
		Duration: 500 * time.Millisecond, Window: 100 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls, bytes int64
	var seconds float64
	for _, x := range r.Series.Windows {
		calls, bytes, seconds = calls+x.Calls, bytes+x.Bytes, seconds+x.Seconds
	}
	if calls != r.Calls || bytes != r.Bytes || calls < 50 || len(r.Series.Windows) < 5 || seconds > r.Seconds+1e-6 {
		t.Errorf("%d of %d calls, %d of %d bytes, %g of %g s, %d windows", calls, r.Calls, bytes, r.Bytes, seconds, r.Seconds, len(r.Series.Windows))
	}
}
