package blockio

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// A loop device cannot write past its cache (FUA): a write that must last is followed by a
// flush, and the last block of a commit has one before it, too. All of that is the device's time.
func TestFlushesAroundWrites(t *testing.T) {
	const count = 101
	device := labtest.LoopDevice(t, "/var/tmp")
	disk, write := labtest.Synced(t)
	for name, c := range map[string]struct {
		disk   string
		write  func()
		writes float64 // 0: as many as the file system thinks fit
	}{
		"after it":            {filepath.Base(device), func() { lastingWrites(t, device, count) }, count},
		"before and after it": {disk, func() { write(53) }, 0},
	} {
		var kernel labtest.Writes
		w := bpftest.Observe(t, Open, func() {
			before := labtest.WritesOf(t, c.disk)
			c.write()
			kernel = labtest.WritesOf(t, c.disk).Since(before)
		})
		var writes, bytes, queue, busy, all float64
		for _, class := range []string{sample.ClassWrite, sample.ClassFlush} {
			e := sample.Entity{Device: c.disk, Class: class}
			ops, _ := w.Sum(sample.BlockOps, e)
			q, _ := w.Sum(sample.BlockQueueTime, e)
			d, _ := w.Sum(sample.BlockDeviceTime, e)
			all, queue, busy = all+ops, queue+q, busy+d
			if class == sample.ClassWrite {
				writes = ops
				bytes, _ = w.Sum(sample.BlockBytes, e)
			}
		}
		t.Logf("%s: %g writes of %g bytes and %g flushes, %.4f s in the queue, %.4f s at the device; the kernel: %+v", name, writes, bytes, all-writes, queue, busy, kernel)
		if all != kernel.Ops || bytes != kernel.Bytes || c.writes > 0 && writes != c.writes {
			t.Errorf("%s: %g writes of %g bytes, want %+v", name, all, bytes, kernel)
		}
		if !kernel.Took(queue + busy) {
			t.Errorf("%s: they took %g s, the kernel says %g s", name, queue+busy, kernel.Seconds)
		}
		if queue > 0.2*busy {
			t.Errorf("%s: %g s in the queue: nothing but flushes went before them; %g s at the device", name, queue, busy)
		}
	}
}

// lastingWrites writes pages of a device one at a time, each of which must last.
func lastingWrites(t *testing.T, device string, pages int) {
	t.Helper()
	fd, err := unix.Open(device, unix.O_WRONLY|unix.O_DIRECT|unix.O_DSYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	buf := bpftest.Aligned(t, 4096)
	for i := range int64(pages) {
		if n, err := unix.Pwrite(fd, buf, i*16384); n != len(buf) || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}

// Where the queue's accounting is off, the kernel keeps no start, and since Linux 6.13 that
// of an earlier request is left where it would be.
func TestUnaccountedRequests(t *testing.T) {
	const count = 307
	device := labtest.LoopDevice(t, "/dev/shm")
	disk, buf := filepath.Base(device), bpftest.Aligned(t, 4096)
	directReads(t, device, buf, stride(count, 16384))
	time.Sleep(2 * time.Second)
	labtest.Unaccounted(t, disk)
	var took time.Duration
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() {
		began := time.Now()
		directReads(t, device, buf, stride(count, 16384))
		took = time.Since(began)
	})
	e := sample.Entity{Device: disk, Class: sample.ClassRead}
	ops, _ := w.Sum(sample.BlockOps, e)
	queue, _ := w.Sum(sample.BlockQueueTime, e)
	busy, _ := w.Sum(sample.BlockDeviceTime, e)
	t.Logf("%g reads in %v: %g s in the queue, %g s at the device", ops, took, queue, busy)
	if ops > count || ops < count-hidden {
		t.Errorf("%g reads, want %d; %g completions were hidden", ops, count, hidden)
	}
	if sum := queue + busy; sum > took.Seconds() || sum < 0.2*took.Seconds() {
		t.Errorf("one after the other they took %g s, of %v", sum, took)
	}
}
