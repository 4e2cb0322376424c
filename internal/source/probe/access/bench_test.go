package access

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

// What the programs add to a read of cached pages, of 4, 16 and 64 KiB: without them, while
// they are there and do nothing, and with one page in 256 or 8 watched, in turns (-benchtime
// 10x: ten of each). The least of many, for others take the processor now and then.
func BenchmarkCachedRead(b *testing.B) {
	bpftest.Root(b)
	for _, size := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("%dKiB", 4*size), func(b *testing.B) { cachedReads(b, size) })
	}
}

// cachedReads is the same of so many pages each.
func cachedReads(b *testing.B, size int) {
	const pages = 2048
	f, err := os.CreateTemp("/var/tmp", "iocause-")
	if err == nil {
		defer os.Remove(f.Name())
		_, err = f.Write(make([]byte, pages*4096))
	}
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, 4096*size)
	states := []struct {
		name        string
		shift       int
		open, count bool
	}{{"without", 0, false, false}, {"stopped", 8, true, false}, {"one-in-256", 8, true, true}, {"one-in-8", 3, true, true}}
	least := make([]time.Duration, len(states))
	read := func() time.Duration {
		began := time.Now()
		for i := range pages / size {
			if _, err := f.ReadAt(buf, int64(i*613%(pages/size)*size)*4096); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(began) / time.Duration(pages/size)
	}
	for b.Loop() {
		for at, c := range states {
			var p *Probe
			if c.open {
				p, err = Open(host.Live(), c.shift)
				bpftest.Need(b, "bpf", err)
				if !c.count {
					err = p.Stop()
				}
			}
			for range 64 {
				if took := read(); least[at] == 0 || took < least[at] {
					least[at] = took
				}
			}
			if p != nil {
				err = errors.Join(err, p.Each(func(Event) {}), p.Close())
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for at, c := range states {
		b.ReportMetric(float64(least[at]), c.name+"-ns/read")
	}
	b.ReportMetric(0, "ns/op")
}
