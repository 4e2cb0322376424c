package reclaim

import (
	"os"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// A process that has ended is told of once more, and its row is given up; one
// that goes on keeps its own. Between the ends of windows, too.
func TestRowsOfEndedProcesses(t *testing.T) {
	for _, phase := range []sample.Phase{sample.IntervalEnd, sample.Tick} {
		h := host.Live()
		h.Self = 0
		source, err := Open(h)
		bpftest.Need(t, "bpf", err)
		p := source.(*Probe)
		r := sample.NewRecorder(time.Now())
		collect := func(phase sample.Phase) {
			t.Helper()
			p.sweep = bpf.Sweep{} // which is due
			bpftest.Collect(t, p, phase, r)
		}
		collect(sample.First)
		ended, self := uint32(bpftest.Ended(t)), uint32(os.Getpid())
		row := reclaimStalls{Threads: 1, Window: p.probe.Window()}
		row.Ns[reclaimHost], row.Count[reclaimHost] = 5e9, 3
		for _, tgid := range []uint32{ended, self} {
			if err := p.probe.Map("stalls").Put(tgid, row); err != nil {
				t.Fatal(err)
			}
		}
		collect(phase)
		if phase == sample.Tick {
			collect(sample.IntervalEnd)
		}
		w := r.NextWindow(time.Now())
		for _, tgid := range []uint32{ended, self} {
			e := sample.Entity{PID: int(tgid), Class: "host"}
			if s, _ := w.Sum(sample.ReclaimTime, e); s != 5 {
				t.Errorf("%v: %g s, want 5", phase, s)
			}
			if n, _ := w.Sum(sample.ReclaimStalls, e); n != 3 {
				t.Errorf("%v: %g stalls, want 3", phase, n)
			}
			if n, _ := w.Value(sample.ReclaimThreads, sample.Entity{PID: int(tgid)}); n != 1 {
				t.Errorf("%v: %g threads, want 1", phase, n)
			}
			var left reclaimStalls
			if kept := p.probe.Map("stalls").Lookup(tgid, &left) == nil; kept != (tgid == self) {
				t.Errorf("%v: the row of process %d is kept: %v", phase, tgid, kept)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
