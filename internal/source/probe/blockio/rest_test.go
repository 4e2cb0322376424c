package blockio

import (
	"os"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// opened is the probe, which counts what this process does like anybody else's.
func opened(t *testing.T) *Probe {
	t.Helper()
	h := host.Live()
	h.Self = 0
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	p := source.(*Probe)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// collectDue collects when a sweep is due.
func collectDue(t *testing.T, p *Probe, phase sample.Phase, r *sample.Recorder) {
	t.Helper()
	p.sweep = bpf.Sweep{}
	bpftest.Collect(t, p, phase, r)
}

// What a process did that has ended is told to the last request, also what
// completes after its end; then its row is given up. The device's sum goes on from
// where it was.
func TestRowsThatRest(t *testing.T) {
	p := opened(t)
	const dev = 4095 << 20 // no disk of this machine has that number
	ended, self := uint32(bpftest.Ended(t)), uint32(os.Getpid())
	set := func(tgid uint32, ops uint64) {
		t.Helper()
		if err := p.probe.Map("by_owner").Put(blockioOwnerKey{Tgid: tgid, Dev: dev}, blockioIo{Size: [16]uint64{3: ops}, Bytes: 4096 * ops}); err != nil {
			t.Fatal(err)
		}
		if err := p.probe.Map("by_file").Put(blockioFileKey{Sdev: tgid, Ino: 7, Dev: dev}, blockioBios{Ops: ops, Bytes: 4096 * ops}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(tgid uint32) bool {
		var io blockioIo
		return p.probe.Map("by_owner").Lookup(blockioOwnerKey{Tgid: tgid, Dev: dev}, &io) == nil
	}
	r := sample.NewRecorder(time.Now())
	collect := func(phase sample.Phase) { collectDue(t, p, phase, r) }
	device := sample.Entity{Device: p.lookup.Disk(dev), Class: "read"}
	check := func(when string, w *sample.Window, ofEnded, ofSelf float64) {
		t.Helper()
		for tgid, want := range map[uint32]float64{ended: ofEnded, self: ofSelf} {
			e := device
			e.PID = int(tgid)
			if n, _ := w.Sum(sample.BlockOps, e); n != want {
				t.Errorf("%s: process %d made %g requests, want %g", when, tgid, n, want)
			}
			f := device
			f.File = sample.FileID{Dev: tgid, Ino: 7}
			if n, _ := w.Sum(sample.BlockFileBytes, f); n != 4096*want {
				t.Errorf("%s: %g bytes of the file of %d, want %g", when, n, tgid, 4096*want)
			}
		}
		if n, _ := w.Sum(sample.BlockOps, device); n != ofEnded+ofSelf {
			t.Errorf("%s: the device did %g requests, want %g", when, n, ofEnded+ofSelf)
		}
	}
	collect(sample.First)
	set(ended, 3)
	set(self, 10)
	collect(sample.Tick)
	set(ended, 5) // two were in flight when it ended
	collect(sample.IntervalEnd)
	check("in the window in which it ended", r.NextWindow(time.Now()), 5, 10)
	if !kept(ended) {
		t.Error("the row of the ended process went although it had grown since the last look")
	}
	collect(sample.Tick)
	collect(sample.IntervalEnd)
	check("when it rests", r.NextWindow(time.Now()), 0, 0)
	if kept(ended) || !kept(self) {
		t.Errorf("kept of the ended process: %v, of the living: %v", kept(ended), kept(self))
	}
	set(self, 17)
	collect(sample.IntervalEnd)
	w := r.NextWindow(time.Now())
	if n, _ := w.Sum(sample.BlockOps, device); n != 7 {
		t.Errorf("after that the device did %g requests, want 7", n)
	}
}
