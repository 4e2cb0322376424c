package blockio

import (
	"os"
	"testing"

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
		w := bpftest.Observe(t, func(h *host.Host) (sample.Source, error) {
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
					if got := s.Sum(); got != want {
						t.Errorf("with both programs %v: %s of %s is %g, want %g", both, m, e.Device, got, want)
					}
				}
			})
			if devices == 0 {
				t.Errorf("with both programs %v: no %s", both, m)
			}
		}
	}
}
