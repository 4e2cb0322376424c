package sample

import (
	"testing"
	"time"
)

func TestMerged(t *testing.T) {
	r := NewRecorder(time.Unix(0, 0))
	for pid, v := range map[int]float64{1: 3, 2: 5, 3: 7} {
		e := Entity{PID: pid}
		r.PutProcess(pid, Process{Comm: "x"})
		r.Put(WaitIO, e, v, "test")
		r.Put(WaitThreads, e, v, "test")
		r.Put(CacheLongest, e, v, "test")
		r.Put(ProcProcessors, e, v, "test")
		r.Put(ProcNice, e, v, "test")
		r.PutHistogram(HistSize, e, Histogram{Sum: v, Counts: [48]uint64{1}}, "test")
	}
	w := r.Window(time.Unix(10, 0))
	m := w.Merged(map[int]int{1: 2, 2: 2})
	for metric, want := range map[Metric]float64{WaitIO: 8, WaitThreads: 8, CacheLongest: 5, ProcProcessors: 3, ProcNice: 3} {
		if got, _ := m.Sum(metric, Entity{PID: 2}); got != want {
			t.Errorf("%s of both is %g, want %g", metric, got, want)
		}
		if got, _ := m.Sum(metric, Entity{PID: 3}); got != 7 {
			t.Errorf("%s of who is not among them is %g, want 7", metric, got)
		}
		if _, ok := m.Sum(metric, Entity{PID: 1}); ok {
			t.Errorf("%s is still told of one of them", metric)
		}
	}
	if h := m.Histogram(HistSize, Entity{PID: 2}); h.Sum != 8 {
		t.Errorf("the histogram of both has %g, want 8", h.Sum)
	}
	if got, _ := w.Sum(WaitIO, Entity{PID: 2}); got != 5 || len(m.Processes) != 3 || m.Seconds() != 10 {
		t.Errorf("the window itself has %g now, want 5; %d processes, %g s", got, len(m.Processes), m.Seconds())
	}
}
