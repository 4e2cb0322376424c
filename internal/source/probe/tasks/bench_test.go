package tasks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// sleepers starts n real processes that sleep and end with the benchmark.
func sleepers(b *testing.B, n int) {
	b.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	all := make([]*os.Process, 0, n)
	b.Cleanup(func() {
		for _, p := range all {
			p.Kill()
		}
		for _, p := range all {
			p.Wait()
		}
	})
	for range n {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{Files: []*os.File{null, null, null}})
		if err != nil {
			b.Skipf("only %d of %d processes could be started: %v", len(all), n, err)
		}
		all = append(all, p)
	}
}

// BenchmarkLap measures a pass over real, sleeping processes beside those that
// run on the machine anyway: BenchmarkCollect of source/proc/pid is the same
// with the files of /proc.
func BenchmarkLap(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root")
	}
	for _, n := range []int{100, 5000, 20000} {
		if n > 100 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			sleepers(b, n)
			s, err := Open(host.Live())
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			r := sample.NewRecorder(time.Now())
			if err := s.Collect(sample.First, r); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Collect(sample.Lap, r); err != nil {
					b.Fatal(err)
				}
				r.Lap(time.Now())
			}
		})
	}
}
