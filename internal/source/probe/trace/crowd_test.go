package trace

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
)

// Each direct read of threads that read at the same time is recorded once, with its
// file, where programs may be preempted as well.
func TestDirectReadsOfManyThreads(t *testing.T) {
	const all = 4200 // reads of all threads together
	path := bpftest.File(t, all*2)
	for _, threads := range []int{4, 200} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			ios, l := record(t, Options{PID: os.Getpid()}, func() {
				bpftest.InThreads(threads, func(i int) {
					fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
					if err != nil {
						t.Error(err)
						return
					}
					defer unix.Close(fd)
					buf := bpftest.Aligned(t, 4096)
					for j := range int64(all / threads) {
						if n, err := unix.Pread(fd, buf, (j*int64(threads)+int64(i))*2*4096); n != len(buf) || err != nil {
							t.Errorf("%d bytes: %v", n, err)
						}
					}
				})
			})
			its := 0 // the file system may read beside
			for i := range ios {
				if ios[i].File == path {
					its++
				}
			}
			if its != all || lost(l) != 0 {
				t.Errorf("%d of %d I/Os are for the file, and %+v, want %d and nothing lost", its, len(ios), l, all)
			}
		})
	}
}
