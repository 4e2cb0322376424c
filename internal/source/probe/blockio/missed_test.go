package blockio

import (
	"os"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// What comes after the program at the completion counts what that one has not counted,
// and nothing else: all where that one is never run, and nothing where it always is.
func TestCompletionsThatAreMissed(t *testing.T) {
	const count = 1013 // prime
	path := bpftest.File(t, 4*count)
	for _, both := range []bool{true, false} {
		w, hidden := bpftest.ObserveSeen(t, 4096, func(h *host.Host) (sample.Source, error) {
			s, err := Open(h)
			bpftest.Need(t, "bpf", err)
			p := s.(*Probe).probe
			if err := p.Attach(onMissed); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{onComplete, onComplete + "_layers"} {
				if !both && p.Hook(name) != "" {
					if err := p.Detach(name); err != nil {
						t.Fatal(err)
					}
				}
			}
			return s, nil
		}, func() { directReads(t, path, bpftest.Aligned(t, 4096), stride(count, 16384)) })
		for m, want := range map[sample.Metric]float64{sample.BlockOps: count, sample.BlockBytes: count * 4096} {
			devices := 0
			w.Each(m, func(e sample.Entity, s *sample.Series) {
				if e.PID == os.Getpid() && e.Class == "read" {
					devices++
					if got := s.Sum(); got > want || got < want-hidden*want/count {
						t.Errorf("with both programs %v: %s of %s is %g, want %g; %g completions were hidden", both, m, e.Device, got, want, hidden)
					}
				}
			})
			if devices == 0 {
				t.Errorf("with both programs %v: no %s", both, m)
			}
		}
	}
}

// So are bios of layers.
func TestBiosThatAreMissed(t *testing.T) {
	bpftest.Root(t)
	for _, both := range []bool{true, false} {
		p, disk := attached(t, true, false)
		if err := p.probe.Attach(onBioMissed); err != nil {
			t.Fatal(err)
		}
		if !both {
			if err := p.probe.Detach(onBioDone); err != nil {
				t.Fatal(err)
			}
		}
		follow(t, p, true)
		r := sample.NewRecorder(time.Now())
		bpftest.Collect(t, p, sample.First, r)
		disk.read(t, 1)
		bpftest.Collect(t, p, sample.Last, r)
		const others = 100 // may read a disk that is new
		w := r.Window(time.Now())
		ops, _ := w.SumWhere(sample.LayerOps, func(e sample.Entity) bool { return e.Device == disk.name })
		if ops < reads || ops > reads+others {
			t.Errorf("with both programs %v: %g bios of %s, want %d", both, ops, disk.name, reads)
		}
		if n, _ := w.SumWhere(sample.LayerTime, func(e sample.Entity) bool { return e.Device == disk.name }); n <= 0 || n > w.Seconds() {
			t.Errorf("with both programs %v: %g s of a window of %g s", both, n, w.Seconds())
		}
	}
}
