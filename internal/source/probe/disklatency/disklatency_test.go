package disklatency

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// Every read that went to the disk is counted once, by its size, and none took
// longer than all of them together. Of 4096 bytes is 2^12: up to that, and above 2^11.
func TestReadsAreCountedOneByOne(t *testing.T) {
	const count = 1009
	path := bpftest.File(t, 4*count)
	buf := bpftest.Aligned(t, 4096)
	took := time.Duration(0)
	var unseen func() float64 // the host's completions for which no program ran
	w := bpftest.Observe(t, Open, func() {
		unseen = bpftest.Hidden(t, 4096)
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		began := time.Now()
		for i := range int64(count) {
			if n, err := unix.Pread(fd, buf, i*16384); n != len(buf) || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
		}
		took = time.Since(began)
	})
	hidden, found := unseen(), false
	w.EachHistogram(sample.DiskReadSize, func(e sample.Entity, h *sample.Hist) {
		if float64(h.Counts[11]) < count-hidden {
			return // another disk
		}
		found = true
		l := w.Histogram(sample.DiskReadLatency, e)
		if l == nil || l.N() != h.N() {
			t.Fatalf("%v: %d sizes and latencies %+v", e, h.N(), l)
		}
		if h.N() == count { // nobody else read
			if h.Sum != count*4096 || l.Sum <= 0 || l.Sum > took.Seconds() {
				t.Errorf("%g bytes in %g s, want %d bytes within %v", h.Sum, l.Sum, count*4096, took)
			}
		}
		for i, n := range l.Counts {
			if n > count && i > 29 {
				t.Errorf("%d reads took more than a second", n)
			}
		}
	})
	if !found {
		t.Errorf("no disk has the %d reads of 4096 bytes; %g completions were hidden", count, hidden)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

// What takes too much is attached for a part of the time.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		events float64
		rests  int
	}{{0, 0}, {10 * 30_000, 0}, {10 * 41_000, 1}, {10 * 400_000, 10}} {
		if got := rests(c.events*runCost, 10*time.Second); got != c.rests {
			t.Errorf("%g events in ten seconds: %d intervals of rest, want %d", c.events, got, c.rests)
		}
	}
}

// A write with a flush after it is over when that is.
func TestFlushesAroundWrites(t *testing.T) {
	disk, write := labtest.Synced(t)
	var kernel labtest.Writes
	w := bpftest.Observe(t, Open, func() {
		before := labtest.WritesOf(t, disk)
		write(53)
		kernel = labtest.WritesOf(t, disk).Since(before)
	})
	e := sample.Entity{Device: disk}
	sizes, l := w.Histogram(sample.DiskWriteSize, e), w.Histogram(sample.DiskWriteLatency, e)
	if sizes == nil || l == nil || float64(l.N()) != kernel.Ops || sizes.N() != l.N() || sizes.Sum != kernel.Bytes || !kernel.Took(l.Sum) {
		t.Errorf("sizes %+v, latencies %+v, want %+v", sizes, l, kernel)
	}
}

// What the kernel keeps no start of is said, and has no time.
func TestUnaccountedRequests(t *testing.T) {
	const count = 101
	device := labtest.LoopDevice(t, "/dev/shm")
	read := func() {
		fd, err := unix.Open(device, unix.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		buf := bpftest.Aligned(t, 4096)
		for i := range int64(count) {
			if n, err := unix.Pread(fd, buf, i*16384); n != len(buf) || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
		}
	}
	read()
	labtest.Unaccounted(t, filepath.Base(device))
	w := bpftest.ObserveOnce(t, Open, read)
	if l := w.Histogram(sample.DiskReadLatency, sample.Entity{Device: filepath.Base(device)}); l != nil {
		t.Errorf("latencies %+v, want none", l)
	}
	if lost, _ := w.Sum(sample.CostLost, sample.Entity{Class: "disklatency untimed"}); lost < count-5 {
		t.Errorf("%g without a start, want %d", lost, count)
	}
}
