package sample

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// Windows that follow each other, joined, are the one window that would have
// been recorded instead.
func TestJoinedLapsAreOneWindow(t *testing.T) {
	start := time.Unix(1000, 0)
	cut, whole := NewRecorder(start), NewRecorder(start)
	rnd := rand.New(rand.NewPCG(3, 4))
	var total [3]float64
	var h Histogram
	var j Join
	for tick := 1; tick <= 12; tick++ {
		now := start.Add(time.Duration(tick) * time.Second / 2)
		closes := tick%3 == 0
		disk := Entity{Device: string(rune('a' + tick%3))}
		run, at := rnd.Float64(), now.Add(-time.Duration(rnd.IntN(1e8)))
		for range 5 {
			h.Add(rnd.Uint64N(1e9))
		}
		for i := range total {
			total[i] += float64(rnd.IntN(100))
		}
		for _, r := range []*Recorder{cut, whole} {
			r.At(now)
			r.Put(ProcsRunning, Entity{}, run, "here")
			r.Put(DiskReads, disk, run, "here")
			r.PutAt(at, BlockBinOps, disk, run, "bins")
			r.PutProcess(tick, Process{Comm: "x"})
			r.PutFile(FileID{Ino: uint64(tick)}, File{Path: "/x"})
			r.PutGap(Gap{Why: "always the same"})
		}
		if !closes && tick < 12 {
			continue
		}
		for _, r := range []*Recorder{cut, whole} {
			if r == whole && tick < 12 {
				continue
			}
			for i := range total {
				r.PutTotal(CacheAccesses, Entity{PID: i + 1}, total[i], "kernel")
			}
			r.PutHistogram(HistDevice, Entity{Device: "a"}, h, "kernel")
		}
		j.Add(cut.NextWindow(now))
	}
	got, want := j.Window(), whole.Window(start.Add(6*time.Second))
	if got.Length != want.Length || !reflect.DeepEqual(got.Processes, want.Processes) || !reflect.DeepEqual(got.Files, want.Files) || len(got.Gaps) != 1 {
		t.Errorf("%v, %d processes, %d files, %v", got.Length, len(got.Processes), len(got.Files), got.Gaps)
	}
	if !reflect.DeepEqual(got.Metrics(), want.Metrics()) {
		t.Fatalf("%v, want %v", got.Metrics(), want.Metrics())
	}
	points := 0
	for _, m := range want.Metrics() {
		want.Each(m, func(e Entity, s *Series) {
			o := got.Get(m, e)
			points += len(o.Points)
			if m == CacheAccesses {
				if o.Sum() != s.Sum() {
					t.Errorf("%s of %v: %g, want %g", m, e, o.Sum(), s.Sum())
				}
				return
			}
			if !reflect.DeepEqual(o, s) {
				t.Errorf("%s of %v: %v, want %v", m, e, o, s)
			}
		})
	}
	if j.Points() != points {
		t.Errorf("%d points are counted, %d are there", j.Points(), points)
	}
	if *got.Histogram(HistDevice, Entity{Device: "a"}) != *want.Histogram(HistDevice, Entity{Device: "a"}) {
		t.Error("the histograms differ")
	}
}

// Joining changes no window, and one alone stays itself.
func TestJoinLeavesWindowsAlone(t *testing.T) {
	make := func() *Window {
		w := NewWindow(time.Unix(5, 0), time.Second)
		w.SetSeries(DiskReads, Entity{}, &Series{Points: []Point{{time.Second, 3}}})
		w.SetHistogram(HistSize, Entity{}, &Hist{Histogram: Histogram{Sum: 2}})
		w.Gaps = []Gap{{Why: "a"}}
		return w
	}
	a, b := make(), make()
	var j Join
	if j.Add(a); j.Window() != a {
		t.Error("one window alone is another")
	}
	j.Add(b)
	if !reflect.DeepEqual(a, make()) || !reflect.DeepEqual(b, make()) {
		t.Error("a window that was joined has changed")
	}
	if got, _ := j.Window().Sum(DiskReads, Entity{}); got != 6 || j.Window().Length != 2*time.Second {
		t.Errorf("%g in %v", got, j.Window().Length)
	}
}

// BenchmarkJoin puts ten windows together, of which one has so many series and the
// others a tenth of them: what a verdict of the live screen reads.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{300, 30000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var windows []*Window
			r := NewRecorder(time.Unix(100, 0))
			for i := range 10 {
				now := time.Unix(int64(101+i), 0)
				r.At(now)
				for k := range n {
					if i == 5 || k%10 == i {
						r.Put(CacheAccesses, Entity{PID: k % 97, File: FileID{Ino: uint64(k)}}, 1, "test")
					}
				}
				windows = append(windows, r.NextWindow(now))
			}
			b.ReportAllocs()
			for b.Loop() {
				var j Join
				for _, w := range windows {
					j.Add(w)
				}
			}
		})
	}
}
