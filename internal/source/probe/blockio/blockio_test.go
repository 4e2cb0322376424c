package blockio

import (
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// device is the one disk on which this process did reads.
func device(t *testing.T, w *sample.Window) string {
	t.Helper()
	found := ""
	w.Each(sample.BlockOps, func(e sample.Entity, _ *sample.Series) {
		if e.PID == os.Getpid() && e.Class == "read" {
			if found != "" {
				t.Errorf("read from %s and %s, want one device", found, e.Device)
			}
			found = e.Device
		}
	})
	return found
}

func directReads(t *testing.T, path string, buf []byte, offsets []int64) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, at := range offsets {
		if n, err := unix.Pread(fd, buf, at); n != len(buf) || err != nil {
			t.Fatalf("reading at %d: %d bytes, %v", at, n, err)
		}
	}
}

// stride is n offsets that never follow each other.
func stride(n, step int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i) * step
	}
	return out
}

func TestDirectReadsAreCountedOneByOne(t *testing.T) {
	const count = 1009 // prime
	path := bpftest.File(t, 4*count)
	buf := bpftest.Aligned(t, 4096)
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() { directReads(t, path, buf, stride(count, 16384)) })
	e := sample.Entity{PID: os.Getpid(), Device: device(t, w), Class: "read"}
	for m, each := range map[sample.Metric]float64{sample.BlockOps: 1, sample.BlockBytes: 4096, sample.BlockSequential: 0} {
		if got, _ := w.Sum(m, e); got > count*each || got < (count-hidden)*each {
			t.Errorf("%s is %g, want %g; %g completions were hidden", m, got, count*each, hidden)
		}
	}
	q, _ := w.Sum(sample.BlockQueueTime, e)
	d, _ := w.Sum(sample.BlockDeviceTime, e)
	if d <= 0 || q < 0 || q+d > w.Seconds() {
		t.Errorf("queue %g s and device %g s in a window of %g s, one request at a time", q, d, w.Seconds())
	}
	p := sample.Entity{PID: os.Getpid()}
	if got, _ := w.Sum(sample.BlockDirect, p); got > count*4096 || got < (count-hidden)*4096 {
		t.Errorf("%g bytes read with O_DIRECT, want %d; %g completions were hidden", got, count*4096, hidden)
	}
	if got, _ := w.Sum(sample.BlockDirectAgn, p); got != 0 {
		t.Errorf("%g bytes read again, want none", got)
	}
	h := w.Histogram(sample.HistSize, sample.Entity{Device: e.Device, Class: "read"})
	if h == nil || float64(h.Counts[12]) < count-hidden {
		t.Errorf("the histogram of sizes %+v lacks the %d reads of 4096 bytes; %g completions were hidden", h, count, hidden)
	}
}

func TestReadAgain(t *testing.T) {
	const count = 499
	path := bpftest.File(t, 4*count)
	buf := bpftest.Aligned(t, 4096)
	offsets := stride(count, 16384)
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() {
		directReads(t, path, buf, offsets)
		directReads(t, path, buf, offsets)
	})
	if got, _ := w.Sum(sample.BlockDirectAgn, sample.Entity{PID: os.Getpid()}); got > count*4096 || got < (count-hidden)*4096 {
		t.Errorf("%g bytes read again, want %d; %g completions were hidden", got, count*4096, hidden)
	}
}

func TestSequentialReads(t *testing.T) {
	const count = 211
	path := bpftest.File(t, count)
	buf := bpftest.Aligned(t, 4096)
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() { directReads(t, path, buf, stride(count, 4096)) })
	e := sample.Entity{PID: os.Getpid(), Device: device(t, w), Class: "read"}
	// the first has none before it, and a file may lie in a few pieces
	if got, _ := w.Sum(sample.BlockSequential, e); got < count-8-hidden {
		t.Errorf("%g of %d reads follow the one before, want nearly all", got, count)
	}
}

func TestCachedReadsByFile(t *testing.T) {
	const pages = 997
	t.Run("here", func(t *testing.T) { readsByFile(t, bpftest.File(t, pages), pages) })
	// btrfs names no device as its own.
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			_, at := labtest.LoopMount(t, kind)
			path := filepath.Join(at, "data")
			if err := os.WriteFile(path, make([]byte, pages*4096), 0o600); err != nil {
				t.Fatal(err)
			}
			readsByFile(t, path, pages)
		})
	}
}

func readsByFile(t *testing.T, path string, pages float64) {
	t.Helper()
	w := bpftest.Observe(t, Open, func() {
		bpftest.Drop(t, path)
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	})
	id := bpftest.ID(t, path)
	var got float64
	w.Each(sample.BlockFileBytes, func(e sample.Entity, s *sample.Series) {
		if e.File == id && e.Class == "read" {
			got += s.Sum()
		}
	})
	if got != pages*4096 {
		t.Errorf("%g bytes of the file read from disk, want %g", got, pages*4096)
	}
	if d, _ := w.Sum(sample.BlockDirect, sample.Entity{PID: os.Getpid()}); d != 0 {
		t.Errorf("%g bytes counted as direct, want none", d)
	}
}

// In the tenths of a second, nothing is missing and nothing counted twice.
func TestBinsAddUp(t *testing.T) {
	const count = 601
	path := bpftest.File(t, 4*count)
	buf := bpftest.Aligned(t, 4096)
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() { directReads(t, path, buf, stride(count, 16384)) })
	e := sample.Entity{Device: device(t, w)}
	var bins, ops float64
	if s := w.Get(sample.BlockBinOps, e); s != nil {
		bins = s.Sum()
	}
	for _, op := range []string{"read", "write"} {
		n, _ := w.Sum(sample.BlockOps, sample.Entity{Device: e.Device, Class: op})
		ops += n
	}
	if bins != ops || bins < count-hidden {
		t.Errorf("the bins hold %g operations, the device did %g", bins, ops)
	}
}

// The hundredths of a second hold the same as the tenths, and say who did it.
func TestFineBinsAddUp(t *testing.T) {
	const count = 601
	path := bpftest.File(t, 4*count)
	buf := bpftest.Aligned(t, 4096)
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() { directReads(t, path, buf, stride(count, 16384)) })
	dev := device(t, w)
	for _, m := range [][2]sample.Metric{
		{sample.BlockBinOps, sample.BlockFineOps}, {sample.BlockBinBytes, sample.BlockFineBytes}, {sample.BlockBinTime, sample.BlockFineTime},
	} {
		wide, _ := w.Sum(m[0], sample.Entity{Device: dev})
		fine, _ := w.SumWhere(m[1], func(e sample.Entity) bool { return e.Device == dev })
		if math.Abs(wide-fine) > 1e-9*wide || wide == 0 {
			t.Errorf("%s is %g, %s is %g", m[0], wide, m[1], fine)
		}
	}
	// alone but for what the machine does besides, this process leads where it reads
	own, _ := w.Sum(sample.BlockFineOps, sample.Entity{PID: os.Getpid(), Device: dev})
	if own < 0.5*(count-hidden) {
		t.Errorf("this process leads the bins of %g operations, it did %d", own, count)
	}
}

// With n readers the depth at arrival is never above n and the mean time
// between is the sum of all waits: Little's law.
func TestDepth(t *testing.T) {
	const readers, count = 4, 251
	path := bpftest.File(t, 4*count)
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() {
		var wg sync.WaitGroup
		for range readers {
			buf := bpftest.Aligned(t, 4096)
			wg.Go(func() { directReads(t, path, buf, stride(count, 16384)) })
		}
		wg.Wait()
	})
	dev := device(t, w)
	var ops float64
	w.Each(sample.BlockDepthOps, func(e sample.Entity, s *sample.Series) {
		if e.Device == dev && len(e.Class) > 9 && e.Class[:9] == "read 4096" {
			ops += s.Sum()
		}
	})
	if ops < readers*count-hidden {
		t.Errorf("%g reads of 4096 bytes by depth, want at least %d", ops, readers*count)
	}
	if v, _ := w.Value(sample.BlockMaxFlight, sample.Entity{Device: dev}); v < 1 {
		t.Errorf("at most %g in flight, want at least 1", v)
	}
}
