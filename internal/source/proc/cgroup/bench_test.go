package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
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
			require.NoError(b, err)
			defer s.Close()
			r := sample.NewRecorder(time.Now())
			require.NoError(b, s.Collect(sample.First, r))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, s.Collect(sample.IntervalEnd, r))
				r.NextWindow(time.Now())
			}
		})
	}
}
