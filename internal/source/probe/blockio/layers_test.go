package blockio

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// stackOf is the device that a file's file system lies on, and the disks at the
// bottom of it. It skips the test where that is a disk itself: test/vm/layers sets
// up several stacks.
func stackOf(t *testing.T, path string) (top string, disks []string) {
	t.Helper()
	devices, err := host.Live().Devices()
	if err != nil {
		t.Fatal(err)
	}
	layers := host.Live().Layers(devices)
	top, _ = devices.Disk(host.DevNumber(bpftest.ID(t, under(path)).Dev))
	if len(layers[top].On) == 0 {
		bpftest.Need(t, "layers", errors.New("a file system in /var/tmp that lies on device-mapper or md (test/vm/layers)"))
	}
	var walk func(string)
	walk = func(name string) {
		dev, _ := devices.Number(name)
		disk, _ := devices.Disk(dev)
		if len(layers[disk].On) == 0 {
			disks = append(disks, disk)
		}
		for _, below := range layers[disk].On {
			walk(below)
		}
	}
	walk(top)
	return top, disks
}

// under is where a file of an overlay lies in the file system below it.
func under(path string) string {
	if dir := os.Getenv("IOCAUSE_UNDER"); dir != "" {
		return dir + strings.TrimPrefix(path, "/var/tmp")
	}
	return path
}

// onDisks is how many times the disks have what is written: an array of mirrors has
// copies, one with parity a part more.
func onDisks(t *testing.T) float64 {
	t.Helper()
	copies := os.Getenv("IOCAUSE_COPIES")
	if copies == "" {
		return 1
	}
	n, err := strconv.ParseFloat(copies, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sums adds up a metric on the disks, each once, of those entities that are wanted.
func sums(w *sample.Window, m sample.Metric, disks []string, keep func(sample.Entity) bool) float64 {
	total := 0.0
	seen := map[string]bool{}
	for _, d := range disks {
		if !seen[d] {
			n, _ := w.SumWhere(m, func(e sample.Entity) bool { return e.Device == d && keep(e) })
			total += n
		}
		seen[d] = true
	}
	return total
}

// nearly tells of at least 99 % of what is wanted, and not more than that. Where an array
// keeps parity, stripes that are not written whole have more of it, and blocks of
// 4 KiB are written whole.
func nearly(t *testing.T, what string, got, want float64) {
	t.Helper()
	t.Logf("%s: %g of %g", what, got, want)
	most := 1.001
	if n := onDisks(t); n != math.Trunc(n) {
		most = 1.05
	}
	if got < 0.99*want || got > most*want {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// Reads through layers are this process's, and this file's, on the disks.
func TestReadsThroughLayers(t *testing.T) {
	const count, pages = 1009, 997 // primes
	direct, cached := bpftest.File(t, 4*count), bpftest.File(t, pages)
	top, disks := stackOf(t, direct)
	buf := bpftest.Aligned(t, 4096)
	var slept time.Duration
	w := bpftest.Observe(t, Open, func() {
		bpftest.Drop(t, cached) // which another try has read
		from := time.Now()
		directReads(t, direct, buf, stride(count, 16384))
		slept = time.Since(from)
		if _, err := os.ReadFile(cached); err != nil {
			t.Fatal(err)
		}
	})
	id := bpftest.ID(t, under(cached))
	own := func(e sample.Entity) bool { return e.PID == os.Getpid() && e.Class == "read" }
	nearly(t, "bytes read by this process", sums(w, sample.BlockBytes, disks, own), (count+pages)*4096)
	nearly(t, "bytes of the file read from the disks", sums(w, sample.BlockLowerBytes, disks, func(e sample.Entity) bool {
		return e.File == id && e.Class == "read"
	}), pages*4096)
	if n, _ := w.Sum(sample.BlockFileBytes, sample.Entity{File: id, Device: top, Class: "read"}); n != pages*4096 {
		t.Errorf("%g bytes of the file read from %s, want %d", n, top, pages*4096)
	}
	report(t, w, top)
	t.Logf("a direct read took %v in the program", slept/count)
}

// So are those of many threads at once: where the requests of a layer complete in a
// softirq, those of the disk complete in interrupts that come while one of them is
// counted, and so do bios of layers that complete in threads. What is told as lost is how
// many at most.
func TestReadsThroughLayersAtOnce(t *testing.T) {
	const threads, each = 32, 131 // the second is a prime
	path := bpftest.File(t, 2*threads*each)
	top, disks := stackOf(t, path)
	var p *bpf.Probe
	opens := func(h *host.Host) (sample.Source, error) {
		s, err := Open(h)
		if err == nil {
			p = s.(*Probe).probe
			err = errors.Join(p.Attach(onMissed), p.Attach(onBioMissed)) // as when one has been missed
		}
		return s, err
	}
	w := bpftest.ObserveOnce(t, opens, func() {
		bpftest.InThreads(threads, func(i int) {
			offsets := make([]int64, each)
			for j := range offsets {
				offsets[j] = int64(j*threads+i) * 2 * 4096
			}
			directReads(t, path, bpftest.Aligned(t, 4096), offsets)
		})
		for _, name := range []string{onComplete, onBioDone} {
			n, err := p.PassedOver(name)
			require.NoError(t, err)
			t.Logf("%d events came while %s counted another one", n, name)
		}
	})
	lost := 0.0
	w.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
		t.Logf("lost %s: %g", e.Class, s.Sum())
		lost += s.Sum()
	})
	own := sums(w, sample.BlockBytes, disks, func(e sample.Entity) bool { return e.PID == os.Getpid() && e.Class == "read" }) / 4096
	all := sums(w, sample.BlockBytes, disks, func(e sample.Entity) bool { return e.PID != 0 && e.Class == "read" }) / 4096
	first, _ := w.SumWhere(sample.LayerOps, func(e sample.Entity) bool {
		c, ok := sample.ParseLayerClass(e.Class)
		return ok && e.Device == top && c.Top == top && c.Op == sample.ClassRead
	})
	const n = threads * each
	t.Logf("%g blocks read, %g by this process, and %g bios of the first layer, of %d; %g events were lost at most", all, own, first, n, lost)
	if all < n-lost || first < n-lost || own < 0.99*n-lost || own > 1.001*n { // layers have threads of their own, too
		t.Errorf("want %d of each, less %g", n, lost)
	}
}

// The times add up, too, where a window begins and ends while large bios are in flight, of
// which parts are complete.
func TestLayersOfBiosInFlight(t *testing.T) {
	const size, windows = 1 << 20, 5
	path := bpftest.File(t, 16*size/4096)
	top, _ := stackOf(t, path)
	buf := bpftest.Aligned(t, size)
	stop := make(chan struct{})
	var done atomic.Int64
	var reader sync.WaitGroup
	reader.Go(func() {
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				directReads(t, path, buf, []int64{i % 16 * size})
				done.Add(1)
			}
		}
	})
	defer reader.Wait()
	defer close(stop)
	for range windows {
		report(t, bpftest.Observe(t, Open, func() {
			first, began := done.Load(), time.Now()
			for done.Load() < first+3 || time.Since(began) < 100*time.Millisecond {
				time.Sleep(5 * time.Millisecond)
			}
		}), top)
	}
}

// What is written is this process's and this file's on every disk, also where a
// thread of the kernel, for a layer, makes the request.
func TestWritesThroughLayers(t *testing.T) {
	const pages = 1511 // prime
	path := bpftest.File(t, 1)
	top, disks := stackOf(t, path)
	if under(path) != path {
		t.Skip("sync_file_range writes nothing on overlayfs")
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, pages*4096)
	kernel := tracing(t, map[string]string{"block_bio_queue": fmt.Sprint("dev == ", number(t, top))})
	w := bpftest.Observe(t, Open, func() {
		kernel.begin()
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
		// written by this thread, but for what the kernel's flusher was faster with:
		// a device that has not been written to for long has a small share of the limit
		// of dirty pages
		if err := unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER); err != nil {
			t.Fatal(err)
		}
	})
	own := bytesQueued(t, kernel.end())
	id := bpftest.ID(t, under(path))
	copies, _ := w.Sum(sample.BlockFileBytes, sample.Entity{File: id, Device: top, Class: "write"})
	nearly(t, "bytes of the file written to the top", copies, pages*4096)
	want := pages * 4096 * onDisks(t)
	nearly(t, "bytes of the file written to the disks", sums(w, sample.BlockLowerBytes, disks, func(e sample.Entity) bool {
		return e.File == id && e.Class == "write"
	}), want)
	nearly(t, "bytes written by this process", sums(w, sample.BlockBytes, disks, func(e sample.Entity) bool {
		return e.PID == os.Getpid() && e.Class == "write"
	}), own*onDisks(t))
	report(t, w, top)
}

// number is a disk's device number, as the kernel keeps it.
func number(t *testing.T, disk string) uint32 {
	t.Helper()
	devices, err := host.Live().Devices()
	require.NoError(t, err)
	dev, ok := devices.Number(disk)
	if !ok {
		t.Fatalf("%s has no number", disk)
	}
	return uint32(dev)
}

// bytesQueued are those of the writes that this process has queued, in a trace.
func bytesQueued(t *testing.T, trace string) float64 {
	t.Helper()
	comm, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	line := regexp.MustCompile(`block_bio_queue: \d+,\d+ W\S* \d+ \+ (\d+) \[` + regexp.QuoteMeta(strings.TrimSpace(string(comm))) + `\]`)
	total := 0.0
	for _, m := range line.FindAllStringSubmatch(trace, -1) {
		sectors, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		total += 512 * sectors
	}
	if total == 0 {
		t.Fatal("this process has queued no write")
	}
	return total
}

// What the kernel's flusher writes in the background is this file's.
func TestWritebackThroughLayers(t *testing.T) {
	const pages = 1103 // prime
	path := bpftest.File(t, 1)
	top, disks := stackOf(t, path)
	w := bpftest.Observe(t, Open, func() {
		if err := os.WriteFile(path, make([]byte, pages*4096), 0o600); err != nil {
			t.Fatal(err)
		}
		unix.Sync() // the flusher's work
	})
	id := bpftest.ID(t, under(path))
	top1, _ := w.Sum(sample.BlockFileBytes, sample.Entity{File: id, Device: top, Class: "write"})
	want := top1 * onDisks(t)
	nearly(t, "bytes of the file written to the top", top1, pages*4096)
	nearly(t, "bytes of the file written to the disks", sums(w, sample.BlockLowerBytes, disks, func(e sample.Entity) bool {
		return e.File == id && e.Class == "write"
	}), want)
	report(t, w, top)
}

// report logs the layers below top, whose times must add up to its own.
func report(t *testing.T, w *sample.Window, top string) {
	t.Helper()
	total, rest := 0.0, 0.0
	sum := func(m sample.Metric, e sample.Entity) float64 { v, _ := w.Sum(m, e); return v }
	w.Each(sample.LayerOps, func(e sample.Entity, s *sample.Series) {
		c, ok := sample.ParseLayerClass(e.Class)
		if !ok || c.Top != top {
			return
		}
		n, all, own := s.Sum(), sum(sample.LayerTime, e), sum(sample.LayerOwnTime, e)
		t.Logf("%s, %s: %g I/Os, %.3f ms each, %.3f ms own, %.3f ms beside others in all", e.Device, c.Op, n, 1e3*all/max(1, n), 1e3*own/max(1, n), 1e3*sum(sample.LayerBeside, e))
		if e.Device == top {
			total += all
		}
		rest += sum(sample.LayerBeside, e) - own
	})
	const most = 0.02
	if total == 0 || (total+rest)/total > most || (total+rest)/total < -most {
		t.Errorf("%s: %g s of %g s are of no layer, want less than %g", top, total+rest, total, most)
	}
	t.Logf("%.3f %% of the time is of no layer", 100*(total+rest)/total)
}
