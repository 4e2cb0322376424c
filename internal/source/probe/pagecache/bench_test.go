package pagecache

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// What each way that this kernel offers adds to a read call of 8 KiB that is all
// cached, by turns with no probe at all, and how that compares with the tracepoint's
// turn of the same iteration: the median, and a quarter on either side. One iteration is
// a turn of every way; with -short one of fewer calls, for emulated machines.
func BenchmarkCachedReads(b *testing.B) {
	const size = 8 << 10
	calls := 100_000
	if testing.Short() {
		calls = 5_000
	}
	path := filepath.Join(b.TempDir(), "data")
	if err := os.WriteFile(path, make([]byte, 8<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, size)
	turn := func() float64 {
		began := time.Now()
		for i := range calls {
			if _, err := unix.Pread(fd, buf, int64(i%1024)*size); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(began).Nanoseconds()) / float64(calls)
	}
	const tracepoint = "reads=" + bpf.ByTracepoint
	ways := []string{"none", tracepoint, "events", "reads=" + bpf.ByFunction, "reads=" + bpf.ByKprobe}
	times := map[string][]float64{}
	for range b.N {
		for _, way := range ways {
			if way == "none" {
				times[way] = append(times[way], turn())
				continue
			}
			b.Setenv(bpf.HooksVariable, way)
			h := host.Live()
			h.Self = 0
			p, err := openExact(h)
			if errors.Is(err, bpf.ErrNotSupported) {
				continue
			}
			if err != nil {
				b.Fatal(err)
			}
			r := sample.NewRecorder(time.Now())
			if err := p.Collect(sample.First, r); err != nil {
				b.Fatal(err)
			}
			turn()
			times[way] = append(times[way], turn())
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // the opening of probes
	for _, way := range ways {
		all, ratios := times[way], []float64{}
		for i, ns := range times[tracepoint] {
			if i < len(all) {
				ratios = append(ratios, all[i]/ns)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		slices.Sort(ratios)
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], way+"-ns/call")
		b.Logf("%s: %.0f ns a call; of the tracepoint's %.3f (%.3f to %.3f)", way, all[len(all)/2], ratios[len(ratios)/2], ratios[len(ratios)/4], ratios[3*len(ratios)/4])
	}
}
