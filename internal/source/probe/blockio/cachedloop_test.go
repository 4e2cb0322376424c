package blockio

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// Of a loop device that reads its image through the page cache nothing is followed to the
// disk below: the reads are this process's on the loop device, and the file's on the disk,
// where a worker makes them.
func TestCachedLoop(t *testing.T) {
	bpftest.Root(t)
	const n, apart = 251, 128 << 10 // a prime; so far that nothing is read ahead
	image := bpftest.File(t, n*apart/4096)
	out, err := exec.Command("losetup", "--find", "--show", "--read-only", image).Output()
	bpftest.Need(t, "loop", err)
	loop := strings.TrimSpace(string(out))
	defer func() {
		if err := exec.Command("losetup", "--detach", loop).Run(); err != nil {
			t.Error("losetup --detach: ", err)
		}
	}()
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() {
		bpftest.Drop(t, image) // which another try, or who looks for partitions, has read
		directReads(t, loop, bpftest.Aligned(t, 4096), stride(n, apart))
	})
	disk := strings.TrimPrefix(loop, "/dev/")
	above := func(e sample.Entity) bool { return e.PID == os.Getpid() && e.Device == disk && e.Class == "read" }
	below := func(e sample.Entity) bool { // before Linux 5.14 each loop device has a thread of its name
		comm := w.Processes[e.PID].Comm
		return e.Device != disk && e.Class == "read" && (comm == disk || strings.HasPrefix(comm, "kworker"))
	}
	if got, _ := w.SumWhere(sample.BlockOps, above); got > n || got < n-hidden {
		t.Errorf("%g reads of this process on %s, want %d; %g completions were hidden", got, disk, n, hidden)
	}
	id := bpftest.ID(t, image)
	if got, _ := w.SumWhere(sample.BlockFileBytes, func(e sample.Entity) bool { return e.File == id && e.Class == "read" }); got < n*4096 {
		t.Errorf("%g bytes of the image are read, want %d at least", got, n*4096)
	}
	took := func(keep func(sample.Entity) bool) float64 {
		queue, _ := w.SumWhere(sample.BlockQueueTime, keep)
		device, _ := w.SumWhere(sample.BlockDeviceTime, keep)
		return queue + device
	}
	whole, part := took(above), took(below)
	t.Logf("a read of %s takes %.0f us, %.0f us of it the disk below", disk, whole/n*1e6, part/n*1e6)
	if part <= 0 { // not more than the whole, but for workers of other loop devices
		t.Errorf("no worker waited for the disk, and a read of %s took %g s", disk, whole/n)
	}
}
