package pagecache

import (
	"cmp"
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
// cached, by turns with no probe at all. One iteration is a turn of every way.
func BenchmarkCachedReads(b *testing.B) {
	const calls, size = 100_000, 8 << 10
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
		return float64(time.Since(began).Nanoseconds()) / calls
	}
	ways := []string{"none", "reads=" + bpf.ByTracepoint, "events", "reads=" + bpf.ByFunction, "reads=" + bpf.ByKprobe}
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
	for _, way := range ways {
		if all := times[way]; len(all) > 0 {
			slices.SortFunc(all, cmp.Compare[float64])
			b.ReportMetric(all[len(all)/2], way+"-ns/call")
		}
	}
}
