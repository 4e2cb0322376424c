package sample

import (
	"testing"
	"time"
)

// Totals that the kernel keeps become the increase of each window; what the
// same entity has in two rows adds up.
func TestLapsHaveTheIncreaseOfTotals(t *testing.T) {
	start := time.Unix(100, 0)
	r := NewRecorder(start)
	disk := Entity{Device: "vda"}
	total := func(a, b float64, values ...uint64) {
		r.PutTotal(BlockBytes, disk, a, "here")
		r.PutTotal(BlockBytes, disk, b, "here")
		var h Histogram
		for _, v := range values {
			h.Add(v)
		}
		r.PutHistogram(HistSize, disk, h, "here")
	}
	for i, c := range []struct {
		a, b   float64
		values []uint64
		want   float64
		n      uint64
	}{
		{3, 4, []uint64{5}, 7, 1},
		{13, 4, []uint64{5, 6, 7}, 10, 2},
		{13, 4, []uint64{5, 6, 7}, -1, 0}, // stood still
		{1, 0, []uint64{9}, 1, 1},         // begun anew
	} {
		end := start.Add(time.Duration(i+1) * time.Second)
		r.At(end)
		total(c.a, c.b, c.values...)
		w := r.NextWindow(end)
		got, ok := w.Sum(BlockBytes, disk)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("window %d: %g, %v, want %g", i, got, ok, c.want)
		}
		h := w.Histogram(HistSize, disk)
		if n := uint64(0); c.n > 0 {
			if h != nil {
				n = h.N()
			}
			if n != c.n {
				t.Errorf("window %d: %d values in the histogram, want %d", i, n, c.n)
			}
		} else if h != nil {
			t.Errorf("window %d has a histogram of %d values, want none", i, h.N())
		}
		if w.Seconds() != 1 {
			t.Errorf("window %d has %g s, want 1", i, w.Seconds())
		}
	}
}

// A row that is not told for a while, for want of room, keeps its place.
func TestTotalsOutliveAnAbsence(t *testing.T) {
	r := NewRecorder(time.Unix(100, 0))
	for i, total := range []float64{5, -1, 9} {
		end := time.Unix(int64(101+i), 0)
		r.At(end)
		if total >= 0 {
			r.PutTotal(CacheMisses, Entity{PID: 1}, total, "here")
		}
		w := r.NextWindow(end)
		if got, _ := w.Sum(CacheMisses, Entity{PID: 1}); i == 2 && got != 4 {
			t.Errorf("got %g after an absence, want 4", got)
		}
	}
}

// What has ended is forgotten in time; what goes on is not.
func TestLapsForgetWhatHasEnded(t *testing.T) {
	now := time.Unix(100, 0)
	r := NewRecorder(now)
	file, again := FileID{Ino: 7}, FileID{Ino: 9}
	r.PutProcess(1, Process{Comm: "ended"})
	r.PutProcess(2, Process{Comm: "told once"})
	r.PutFile(FileID{Ino: 8}, File{Path: "/closed"})
	r.PutFile(file, File{Path: "/read"})
	r.PutFile(again, File{Path: "/again"})
	for window := range 3 * forgetAfter {
		now = now.Add(time.Second)
		r.At(now)
		r.Put(ProcUser, Entity{PID: 2}, 1, "test")
		r.Put(CacheAccesses, Entity{PID: 2, File: file}, 1, "test")
		r.PutProcess(1000+window, Process{Comm: "short"})
		if window == forgetAfter || window == 2*forgetAfter+1 { // as long as it is remembered, and longer
			r.Put(CacheAccesses, Entity{File: again}, 1, "test")
		}
		w := r.NextWindow(now)
		if path, want := w.Files[again].Path, map[int]string{0: "/again", forgetAfter: "/again"}[window]; path != want {
			t.Errorf("window %d: the file used again is called %q, want %q", window, path, want)
		}
		_, ended := w.Processes[1]
		if w.Processes[2].Comm != "told once" || w.Files[file].Path != "/read" || ended != (window <= forgetAfter) || window > 0 && window != forgetAfter && len(w.Files) != 1 {
			t.Fatalf("window %d: %d processes, %v", window, len(w.Processes), w.Files)
		}
		if len(w.Processes) > forgetAfter+3 || len(r.processes) > forgetAfter+4 {
			t.Fatalf("window %d knows %d processes", window, len(w.Processes))
		}
	}
}

// What is known of a process adds up, but not with what was known of another
// one that had its number.
func TestNumbersAreUsedAgain(t *testing.T) {
	r := NewRecorder(time.Unix(0, 0))
	r.PutProcess(7, Process{Comm: "old", Start: time.Second + 3*time.Millisecond, Kernel: true, IOCgroup: "/old"})
	r.PutProcess(7, Process{Start: time.Second, CPUCgroup: "/old"}) // to the tick
	if p := r.w.Processes[7]; p.Comm != "old" || p.IOCgroup != "/old" || p.CPUCgroup != "/old" {
		t.Errorf("%+v", p)
	}
	r.PutProcess(7, Process{Comm: "new", Start: 2 * time.Second})
	r.PutProcess(7, Process{Comm: "old", Start: time.Second, MemoryCgroup: "/old"}) // told late
	r.PutProcess(7, Process{MemoryCgroup: "/new"})
	if p, want := r.w.Processes[7], (Process{Comm: "new", Start: 2 * time.Second, MemoryCgroup: "/new"}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
}
