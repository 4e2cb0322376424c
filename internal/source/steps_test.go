package source

import (
	"testing"
	"testing/synctest"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// In steps nothing is seen twice and nothing is left out: the windows add up to
// what one would have held.
func TestStepsAddUp(t *testing.T) {
	for _, c := range []struct {
		length time.Duration
		steps  int
	}{{10 * time.Second, 10}, {3500 * time.Millisecond, 4}, {200 * time.Millisecond, 1}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{put: dirty}
			collector := Open(t.Context(), host.Live(), []Entry{entry("fake", f, sample.DiskReadBytes)})
			collector.Begin()
			var windows []*sample.Window
			var said time.Duration
			w := collector.ObserveInSteps(t.Context(), Observation{Length: c.length, Progress: func(p Progress) { said = max(said, p.Elapsed) }}, time.Second, func(w *sample.Window) { windows = append(windows, w) })
			total := 0.0
			var length time.Duration
			for _, one := range windows {
				sum, _ := one.Sum(sample.DiskReadBytes, sample.Entity{Device: "vda"})
				total += sum
				length += one.Length
			}
			sum, _ := w.Sum(sample.DiskReadBytes, sample.Entity{Device: "vda"})
			passes := 0
			for _, p := range f.phases {
				if p != sample.First {
					passes++
				}
			}
			if len(windows) != c.steps || sum != total || sum != 1e6*float64(passes) || w.Length != length || w.Length != c.length || said > c.length || said < c.length/2 && c.length > time.Second {
				t.Errorf("%v: %d windows of %v, %v in all; %g and %g bytes in %d passes; progress to %v", c.length, len(windows), length, w.Length, sum, total, passes, said)
			}
			if err := collector.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
