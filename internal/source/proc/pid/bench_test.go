package pid

import (
	"fmt"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// BenchmarkCollect measures the two passes over real, sleeping processes
// beside those that run on the machine anyway.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{100, 5000} {
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
