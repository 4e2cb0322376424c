package blockio

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// discard is the ioctl BLKDISCARD: from, and bytes.
func discard(fd int, from, length uint64) error {
	what := [2]uint64{from, length}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.BLKDISCARD, uintptr(unsafe.Pointer(&what))); errno != 0 {
		return errno
	}
	return nil
}

// Discards are requests of a class of their own, of whoever asks for them.
func TestDiscardsAreCounted(t *testing.T) {
	const count, length = 7, 1 << 20
	env, err := labtest.New(t, "")
	bpftest.Need(t, "loop", err)
	disk, err := env.Loop("disk", 16<<20, "", false)
	bpftest.Need(t, "loop", err)
	fd, err := unix.Open(disk.Dir, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	w := bpftest.Observe(t, Open, func() {
		for i := range uint64(count) {
			if err := discard(fd, 2*i*length, length); err != nil {
				bpftest.Need(t, "loop", err)
			}
		}
	})
	e := sample.Entity{PID: os.Getpid(), Device: filepath.Base(disk.Dir), Class: sample.ClassDiscard}
	for m, want := range map[sample.Metric]float64{sample.BlockOps: count, sample.BlockBytes: count * length, sample.BlockSequential: 0} {
		if got, _ := w.Sum(m, e); got != want {
			t.Errorf("%s is %g, want %g", m, got, want)
		}
	}
	e.PID = 0
	if took, _ := w.Sum(sample.BlockDeviceTime, e); took <= 0 || took > w.Seconds() {
		t.Errorf("they took %g s of %g", took, w.Seconds())
	}
}
