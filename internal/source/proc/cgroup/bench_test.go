package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// BenchmarkCollect is an interval on a machine with so many more cgroups, each of
// all controllers.
func BenchmarkCollect(b *testing.B) {
	h := host.Live()
	c, err := h.Cgroups()
	if err != nil {
		b.Skip(err)
	}
	for _, n := range []int{20, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dirs := map[string]bool{}
			for _, controller := range []string{"memory", "blkio", "io", "cpu"} {
				if t, ok := c.Controller(controller); ok {
					dirs[filepath.Join(t.Dir, "iocause-bench")] = true
				}
			}
			for dir := range dirs {
				for i := range n {
					if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(i)), 0o755); err != nil {
						b.Skip(err)
					}
				}
				b.Cleanup(func() {
					for i := range n {
						_ = os.Remove(filepath.Join(dir, fmt.Sprint(i)))
					}
					if err := os.Remove(dir); err != nil {
						b.Error(err)
					}
				})
			}
			s, err := Open(h)
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
