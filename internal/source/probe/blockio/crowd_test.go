package blockio

import (
	"fmt"
	"os"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// Each direct read of threads that read at the same time is counted once, where
// programs may be preempted as well. What the host hides of completions is counted apart:
// of a request that is not used again the probe does not learn it.
func TestDirectReadsOfManyThreads(t *testing.T) {
	const each = 4200 // reads of all threads together
	path := bpftest.File(t, each*2)
	for _, threads := range []int{4, 200} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			var unseen func() float64
			w := bpftest.Observe(t, Open, func() {
				unseen = bpftest.Hidden(t, 4096)
				bpftest.InThreads(threads, func(i int) {
					offsets := make([]int64, each/threads)
					for j := range offsets {
						offsets[j] = int64(j*threads+i) * 2 * 4096
					}
					directReads(t, path, bpftest.Aligned(t, 4096), offsets)
				})
			})
			hidden := unseen()
			e := sample.Entity{PID: os.Getpid(), Device: device(t, w), Class: "read"}
			for m, want := range map[sample.Metric]float64{sample.BlockOps: each, sample.BlockBytes: each * 4096} {
				if got, _ := w.Sum(m, e); got > want || got < want-hidden*want/each {
					t.Errorf("%s is %g, want %g; %g completions were hidden", m, got, want, hidden)
				}
			}
			if got, _ := w.Sum(sample.BlockDirect, sample.Entity{PID: os.Getpid()}); got > each*4096 || got < (each-hidden)*4096 {
				t.Errorf("%g bytes read with O_DIRECT, want %d; %g completions were hidden", got, each*4096, hidden)
			}
		})
	}
}
