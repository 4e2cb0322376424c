package pagecache

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// readAll reads 1009 pages of a file one by one, and again until the time is
// over, and counts.
func readAll(t *testing.T, path string, pages int, length time.Duration) float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, pageBytes)
	reads := 0
	for end := time.Now().Add(length); reads == 0 || time.Now().Before(end); {
		for i := range 1009 {
			if _, err := unix.Pread(int(f.Fd()), b, int64(i*7%pages)*pageBytes); err != nil {
				t.Fatal(err)
			}
			reads++
		}
	}
	return float64(reads)
}

// Very many reads of cached data are estimated, and that is said; few are
// counted one by one, before and after.
func TestManyCachedReadsAreSampled(t *testing.T) {
	const pages = 211
	slow, busy := bpftest.File(t, pages), bpftest.File(t, pages)
	var truth, rate, exact float64
	w := bpftest.Observe(t, Open, func() {
		readAll(t, busy, pages, 0) // in the cache from here on
		truth = 1009 + readAll(t, busy, pages, 2*time.Second)
		rate = truth / 2
		time.Sleep(3 * period)
		exact = readAll(t, slow, pages, 0) // one round
	})
	if rate < 1.5*sampleAbove {
		t.Skipf("this machine makes %.0f reads a second, and none is sampled below %d", rate, sampleAbove)
	}
	at := func(path string, m sample.Metric) float64 {
		v, _ := w.Sum(m, sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, path)})
		return v
	}
	if got := at(busy, sample.CacheVisits) / truth; got < 0.8 || got > 1.2 {
		t.Errorf("visits of the busy file: %.3f of the truth, %.0f", got, truth)
	}
	if got := at(slow, sample.CacheVisits); got != exact {
		t.Errorf("%g visits of the other file, want %g", got, exact)
	}
	told := false
	for _, g := range w.Gaps {
		told = told || strings.Contains(g.Why, "scaled")
	}
	if !told {
		t.Errorf("nothing says that reads were sampled: %v", w.Gaps)
	}
}
