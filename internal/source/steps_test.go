package source

import (
	"encoding/binary"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
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

// A kernel's pages of 16 KiB are told as pages of 4 KiB, and all else as it is.
func TestPagesOf16KiB(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(root+"/proc/self", 0o700))
	pageSize := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 6), 16384)
	require.NoError(t, os.WriteFile(root+"/proc/self/auxv", pageSize, 0o600))
	e := sample.Entity{}
	c := Open(t.Context(), host.Tree(root, time.Now), []Entry{entry("fake", &fake{put: func(phase sample.Phase, into sample.Sink) {
		if phase != sample.First {
			into.PutTotal(sample.CacheMisses, e, 3, "fake")
			into.Put(sample.VMDirtied, e, 5, "fake")
			into.Put(sample.VMPageIn, e, 7, "fake")
		}
	}})})
	defer c.Close()
	c.Begin()
	w := c.Next(true)
	for m, want := range map[sample.Metric]float64{sample.CacheMisses: 4 * 3, sample.VMDirtied: 4 * 5, sample.VMPageIn: 7} {
		if got, _ := w.Sum(m, e); got != want {
			t.Errorf("%s: %g, want %g", m, got, want)
		}
	}
}
