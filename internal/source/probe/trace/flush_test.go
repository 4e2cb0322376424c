package trace

import (
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab/labtest"
)

// numberOf is the device number of a disk.
func numberOf(t *testing.T, disk string) host.DevNumber {
	t.Helper()
	devices, err := host.Live().Devices()
	if err != nil {
		t.Fatal(err)
	}
	number, ok := devices.Number(disk)
	if !ok {
		t.Fatalf("no disk %s", disk)
	}
	return number
}

// The last block of a commit is written with a flush before it and one after it: all of
// that is the device's time, as the kernel has it.
func TestFlushesAroundWrites(t *testing.T) {
	disk, write := labtest.Synced(t)
	var kernel labtest.Writes
	ios, l := record(t, Options{Device: numberOf(t, disk)}, func() {
		before := labtest.WritesOf(t, disk)
		write(53)
		kernel = labtest.WritesOf(t, disk).Since(before)
	})
	var got labtest.Writes
	var queue time.Duration
	for _, io := range ios {
		if op := io.Flags.Op(); op == "write" || op == "flush" {
			got.Ops++
			got.Bytes += float64(io.Bytes)
			got.Seconds += io.Latency().Seconds()
			queue += max(io.Queue, 0)
		}
	}
	t.Logf("%+v, %v of it in the queue; the kernel: %+v; %+v", got, queue, kernel, l)
	if got.Ops != kernel.Ops || got.Bytes != kernel.Bytes || !kernel.Took(got.Seconds) {
		t.Errorf("%+v, want %+v", got, kernel)
	}
	if queue.Seconds() > 0.2*got.Seconds {
		t.Errorf("%v in the queue, of %g s", queue, got.Seconds)
	}
}

// Of requests that the kernel keeps no start of, none began before it was looked for.
func TestUnaccountedRequests(t *testing.T) {
	const count = 307
	device := labtest.LoopDevice(t, "/dev/shm")
	disk := filepath.Base(device)
	directReads(t, device, count, 4096, 16384)
	time.Sleep(time.Second)
	labtest.Unaccounted(t, disk)
	ios, _ := record(t, Options{Device: numberOf(t, disk)}, func() { directReads(t, device, count, 4096, 16384) })
	if len(ios) < count-5 {
		t.Errorf("%d reads, want %d", len(ios), count)
	}
	for _, io := range ios {
		if io.Latency() > 500*time.Millisecond {
			t.Fatalf("a read took %v: %+v", io.Latency(), io)
		}
	}
}
