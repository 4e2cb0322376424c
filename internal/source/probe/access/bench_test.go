package access

import (
	"os"
	"runtime"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

// What the programs add to a read of a cached page: without them, while they are there
// and do nothing, and with one page in 256 or 8 watched. The least of many rounds, for
// others take the processor now and then.
func BenchmarkCachedRead(b *testing.B) {
	bpftest.Root(b)
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
	buf := make([]byte, 4096)
	for _, c := range []struct {
		name        string
		shift       int
		open, count bool
	}{{"without", 0, false, false}, {"stopped", 8, true, false}, {"one-in-256", 8, true, true}, {"one-in-8", 3, true, true}} {
		b.Run(c.name, func(b *testing.B) {
			if c.open {
				p, err := Open(host.Live(), c.shift)
				bpftest.Need(b, "bpf", err)
				defer p.Close()
				if !c.count {
					if err := p.Stop(); err != nil {
						b.Fatal(err)
					}
				}
				defer func() { _ = p.Each(func(Event) {}) }()
			}
			best := time.Hour
			for b.Loop() {
				began := time.Now()
				for i := range pages {
					if _, err := f.ReadAt(buf, int64(i*613%pages)*4096); err != nil {
						b.Fatal(err)
					}
				}
				best = min(best, time.Since(began)/pages)
			}
			b.ReportMetric(float64(best), "ns/read")
			b.ReportMetric(0, "ns/op")
		})
	}
}
