package blockio

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// A loop device whose file ends half way fails every read behind that.
func TestFailedAndLoneReadsAreCountedOneByOne(t *testing.T) {
	const good, bad = 101, 211 // primes
	env, err := labtest.New(t, "")
	bpftest.Need(t, "loop", err)
	disk, err := env.Loop("disk", 16<<20, "", false)
	bpftest.Need(t, "loop", err)
	if err := env.Break("disk", 8<<20); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(disk.Dir, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	buf := bpftest.Aligned(t, 4096)
	w := bpftest.Observe(t, Open, func() {
		for i := range int64(good) {
			if _, err := unix.Pread(fd, buf, i*8192); err != nil {
				t.Fatal(err)
			}
		}
		for i := range int64(bad) {
			if _, err := unix.Pread(fd, buf, 8<<20+i*8192); !errors.Is(err, unix.EIO) {
				t.Fatalf("reading behind the end of the file gave %v, want %v", err, unix.EIO)
			}
		}
	})
	e := sample.Entity{PID: os.Getpid(), Device: filepath.Base(disk.Dir), Class: "read error"}
	if n, _ := w.Sum(sample.BlockFailures, e); n != bad {
		t.Errorf("%g reads failed, want %d", n, bad)
	}
	if s, _ := w.Sum(sample.BlockFailTime, e); s <= 0 || s > w.Seconds() {
		t.Errorf("they took %g s in a window of %g s", s, w.Seconds())
	}
	if n, _ := w.Sum(sample.BlockOps, sample.Entity{PID: e.PID, Device: e.Device, Class: "read"}); n != good+bad {
		t.Errorf("%g reads, want %d", n, good+bad)
	}
	// nobody else uses the device, so that each read is alone on it
	all, _ := w.Sum(sample.BlockOps, sample.Entity{Device: e.Device, Class: "read"})
	alone, _ := w.Sum(sample.BlockAloneOps, sample.Entity{Device: e.Device, Class: "read 4096"})
	if all == good+bad && alone != good+bad || alone < good {
		t.Errorf("%g of %g reads were alone, want all", alone, all)
	}
}
