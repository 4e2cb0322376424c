package locks

import (
	"os"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Rows of processes that have ended are told once more and given up; those of
// holders that have ended when they rest. What a process that goes on has waited
// neither grows nor falls by that.
func TestRowsOfEndedProcesses(t *testing.T) {
	h := host.Live()
	h.Self = 0
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer source.Close()
	p := source.(*Probe)
	r := sample.NewRecorder(time.Now())
	observe := func(phase sample.Phase) *sample.Window {
		t.Helper()
		p.sweep = bpf.Sweep{} // which is due
		bpftest.Collect(t, p, phase, r)
		return r.NextWindow(time.Now())
	}
	observe(sample.First)
	self := uint32(os.Getpid())
	waiter, holder := uint32(bpftest.Ended(t)), uint32(bpftest.Ended(t))
	keys := []locksKey{
		{Tgid: waiter, Kind: kindOther},
		{Tgid: self, Holder: holder, Kind: kindOther},
		{Tgid: self, Holder: self, Kind: kindOther},
	}
	set := func(i int, seconds, count uint64) {
		t.Helper()
		if err := p.probe.Map("waits").Put(keys[i], locksRow{Ns: seconds * 1e9, Count: count}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keys {
		set(i, uint64(10*(i+1)), 2)
	}
	kept := func() (n int) {
		for _, k := range keys {
			var r locksRow
			if p.probe.Map("waits").Lookup(k, &r) == nil {
				n++
			}
		}
		return n
	}
	of := func(w *sample.Window, m sample.Metric, pid uint32, class string) float64 {
		s, _ := w.Sum(m, sample.Entity{PID: int(pid), Class: class})
		return s
	}
	w := observe(sample.IntervalEnd)
	if got := of(w, sample.LockWait, waiter, "other"); got != 10 {
		t.Errorf("who has ended waited %g s, want 10", got)
	}
	if got := of(w, sample.LockWait, self, "other"); got != 50 {
		t.Errorf("who goes on waited %g s, want 20 + 30", got)
	}
	if got := of(w, sample.LockHeld, holder, ""); got != 20 {
		t.Errorf("the holder that has ended kept others for %g s, want 20", got)
	}
	if n := kept(); n != 2 {
		t.Errorf("%d rows are kept, want all but that of the waiter that has ended", n)
	}
	set(1, 21, 3) // the wait that had begun when the holder lived
	set(2, 35, 3)
	w = observe(sample.IntervalEnd)
	if got := of(w, sample.LockWait, self, "other"); got != 6 || kept() != 2 {
		t.Errorf("then %g s, want 1 + 5; %d rows kept", got, kept())
	}
	w = observe(sample.IntervalEnd)
	if got := of(w, sample.LockWait, self, "other"); got != 0 || kept() != 1 {
		t.Errorf("then %g s, want none; %d rows kept, want one", got, kept())
	}
	set(2, 36, 4)
	w = observe(sample.IntervalEnd)
	if got := of(w, sample.LockWait, self, "other"); got != 1 || len(w.Gaps) > 0 {
		t.Errorf("then %g s, want 1; %v", got, w.Gaps)
	}
}
