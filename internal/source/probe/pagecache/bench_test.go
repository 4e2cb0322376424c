package pagecache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// What each way that this kernel offers adds to a read call of 8 KiB that is all
// cached, by turns with no probe at all, and how that compares with the tracepoint's
// turn of the same iteration: the median, and a quarter on either side. Likewise how long
// BPF programs run for a call, by the kernel's account. One iteration is a turn of every
// way, and one that the kernel accounts for; with -short one of fewer calls, for emulated
// machines.
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
	times, programs := map[string][]float64{}, map[string][]float64{}
	for range b.N {
		for _, way := range ways {
			if way == "none" {
				turn() // as with the others: they come from opening a probe
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
			programs[way] = append(programs[way], accounted(b, func() { turn() })/float64(calls))
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // the opening of probes
	for _, way := range ways {
		if len(times[way]) > 0 {
			b.ReportMetric(middle(times[way]), way+"-ns/call")
			b.Logf("%s: %.0f ns a call; of the tracepoint's %s", way, middle(times[way]), ratios(times[way], times[tracepoint]))
		}
		if len(programs[way]) > 0 {
			b.Logf("%s: programs ran %.0f ns a call; of the tracepoint's %s", way, middle(programs[way]), ratios(programs[way], programs[tracepoint]))
		}
	}
}

func middle(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// ratios are those to others, pair by pair.
func ratios(these, others []float64) string {
	var all []float64
	for i := range min(len(these), len(others)) {
		all = append(all, these[i]/others[i])
	}
	if len(all) == 0 {
		return "unknown"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.3f (%.3f to %.3f)", all[len(all)/2], all[len(all)/4], all[3*len(all)/4])
}

// accounted is how many ns all BPF programs of the kernel ran while f did.
func accounted(b *testing.B, f func()) float64 {
	b.Helper()
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		b.Fatal(err)
	}
	before := runTime(b)
	f()
	after := runTime(b)
	if err := stats.Close(); err != nil {
		b.Fatal(err)
	}
	return float64(after - before)
}

// runTime is how long the programs that are loaded have run while that was measured.
func runTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return sum
		}
		if err != nil {
			b.Fatal(err)
		}
		id = next
		program, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // unloaded meanwhile
		}
		stats, err := program.Stats()
		program.Close()
		if err != nil {
			b.Fatal(err)
		}
		sum += stats.Runtime
	}
}
