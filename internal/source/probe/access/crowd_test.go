package access

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
)

// Each page that threads ask for at the same time is told once, where programs may be
// preempted as well.
func TestPagesOfManyThreads(t *testing.T) {
	bpftest.Root(t)
	const pages = 4200
	path := fileOf(t, pages)
	for _, threads := range []int{4, 200} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			bpftest.Drop(t, path)
			count, told, _ := watch(t, 0, bpftest.ID(t, path), func() {
				bpftest.InThreads(threads, func(i int) {
					f, err := os.Open(path)
					if err != nil {
						t.Error(err)
						return
					}
					defer f.Close()
					if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
						t.Error(err)
					}
					buf := make([]byte, pageBytes)
					for range 2 { // from disk, and from the cache
						for j := range pages / threads {
							if _, err := f.ReadAt(buf, int64((j*threads+i)*pageBytes)); err != nil {
								t.Error(err)
							}
						}
					}
				})
			})
			if count[Added] != pages || count[Read] != 2*pages || len(told) != pages {
				t.Errorf("%d added, %d reads of %d pages; want %d, %d of %[4]d", count[Added], count[Read], len(told), pages, 2*pages)
			}
		})
	}
}
