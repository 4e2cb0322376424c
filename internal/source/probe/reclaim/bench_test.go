package reclaim

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// What the programs add to pages that come in while others are evicted: holes of a file
// four times as large as its cgroup's cache are read page by page, so that no disk takes
// part. The median of many rounds, the three kinds by turns.
func BenchmarkPagesComeAndGo(b *testing.B) {
	bpftest.Root(b)
	const pages, round, rounds = 65536, 4096, 24
	f, err := os.CreateTemp("/var/tmp", "iocause-")
	if err == nil {
		defer os.Remove(f.Name())
		err = f.Truncate(pages * 4096)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	bpftest.Need(b, "cgroup", memoryCgroup(b, pages/4*4096))
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil { // a page at a time
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf, at := make([]byte, 4096), 0
	some := func() {
		for range round {
			if _, err := f.ReadAt(buf, int64(at)*4096); err != nil {
				b.Fatal(err)
			}
			at = (at + 1) % pages
		}
	}
	for range pages / round {
		some()
	}
	var times [3][]float64
	for b.Loop() {
		for kind := range times {
			var p sample.Source
			r := sample.NewRecorder(time.Now())
			if kind > 0 {
				p, err = Open(host.Live())
				bpftest.Need(b, "bpf", err)
			}
			if kind > 1 { // they begin to count
				bpftest.Collect(b, p, sample.First, r)
				time.Sleep(100 * time.Millisecond) // their run time is measured for a moment
			}
			for range rounds {
				began := time.Now()
				some()
				times[kind] = append(times[kind], float64(time.Since(began))/round)
			}
			if c, ok := p.(*Probe); ok {
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for kind, name := range []string{"without-ns/page", "returning-at-once-ns/page", "counting-ns/page"} {
		slices.Sort(times[kind])
		b.ReportMetric(times[kind][len(times[kind])/2], name)
	}
	b.ReportMetric(0, "ns/op")
}
