package pid

import (
	"fmt"
	"os"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// sleepers starts n real processes (sleep(1)) that end with the test: the cost
// of a pass is the kernel's, which a synthetic tree would not show.
func sleepers(tb testing.TB, n int) {
	tb.Helper()
	const program = "/bin/sleep"
	if _, err := os.Stat(program); err != nil {
		tb.Skipf("needs %s: %v", program, err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer null.Close()
	all := make([]*os.Process, 0, n)
	tb.Cleanup(func() {
		for _, p := range all {
			p.Kill()
		}
		for _, p := range all {
			p.Wait()
		}
	})
	for range n {
		p, err := os.StartProcess(program, []string{"sleep", "600"}, &os.ProcAttr{Files: []*os.File{null, null, null}})
		if err != nil {
			tb.Skipf("only %d of %d processes could be started: %v", len(all), n, err)
		}
		all = append(all, p)
	}
}

// BenchmarkCollect measures the two passes over real, sleeping processes
// beside those that run on the machine anyway.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{100, 5000} {
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
			b.Run("first", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := s.Collect(sample.First, sample.NewRecorder(time.Now())); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("last", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := s.Collect(sample.Last, sample.NewRecorder(time.Now())); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
