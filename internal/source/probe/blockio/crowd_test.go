package blockio

import (
	"fmt"
	"os"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// Each direct read of threads that read at the same time is counted once, where
// programs may be preempted as well.
func TestDirectReadsOfManyThreads(t *testing.T) {
	const each = 4200 // reads of all threads together
	path := bpftest.File(t, each*2)
	for _, threads := range []int{4, 200} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			w := bpftest.Observe(t, Open, func() {
				bpftest.InThreads(threads, func(i int) {
					offsets := make([]int64, each/threads)
					for j := range offsets {
						offsets[j] = int64(j*threads+i) * 2 * 4096
					}
					directReads(t, path, bpftest.Aligned(t, 4096), offsets)
				})
			})
			e := sample.Entity{PID: os.Getpid(), Device: device(t, w), Class: "read"}
			for m, want := range map[sample.Metric]float64{sample.BlockOps: each, sample.BlockBytes: each * 4096} {
				if got, _ := w.Sum(m, e); got != want {
					t.Errorf("%s is %g, want %g", m, got, want)
				}
			}
			if got, _ := w.Sum(sample.BlockDirect, sample.Entity{PID: os.Getpid()}); got != each*4096 {
				t.Errorf("%g bytes read with O_DIRECT, want %d", got, each*4096)
			}
		})
	}
}
