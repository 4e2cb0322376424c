package tasks

import (
	"fmt"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// BenchmarkInterval measures a pass over real, sleeping processes beside those that
// run on the machine anyway: BenchmarkCollect of source/proc/pid is the same
// with the files of /proc.
func BenchmarkInterval(b *testing.B) {
	bpftest.Root(b)
	for _, n := range []int{100, 5000, 20000} {
		if n > 100 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			proctest.Sleepers(b, n)
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
				if err := s.Collect(sample.IntervalEnd, r); err != nil {
					b.Fatal(err)
				}
				r.NextWindow(time.Now())
			}
		})
	}
}
