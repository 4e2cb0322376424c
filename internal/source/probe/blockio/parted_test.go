package blockio

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// When a device comes that lies on another, programs that follow it take the place of
// those that do not, and no request is lost or counted twice: neither those before and
// after on the disk, nor those on the disk that a loop device past the page cache asks for.
func TestALayerThatComesLater(t *testing.T) {
	bpftest.Root(t)
	followsLayers(t)
	const before, after, through = 503, 509, 251 // primes
	path, image := bpftest.File(t, 4*after), bpftest.File(t, 4*through)
	buf := bpftest.Aligned(t, 4096)
	var p *Probe
	var stacked bool
	opens := func(h *host.Host) (sample.Source, error) {
		stacked = h.Stacked()
		s, err := Open(h)
		if err == nil {
			p = s.(*Probe)
		}
		return s, err
	}
	var loop string
	w, hidden := bpftest.ObserveSeen(t, 4096, opens, func() {
		directReads(t, path, buf, stride(before, 16384))
		out, err := exec.Command("losetup", "--find", "--show", "--direct-io=on", image).Output()
		if err != nil {
			t.Fatal("losetup: ", err)
		}
		loop = strings.TrimSpace(string(out))
		defer func() {
			if err := exec.Command("losetup", "--detach", loop).Run(); err != nil {
				t.Error("losetup --detach: ", err)
			}
		}()
		time.Sleep(5100 * time.Millisecond) // it is looked for every five seconds
		if err := errors.Join(p.layers.Look(), p.bios.Look()); err != nil || !p.layers.On() {
			t.Fatalf("the loop device was not seen: %v", err)
		}
		begins := "on_start_layers"
		if p.Ways()[0].By == bpf.ByRequest { // before 6.5
			begins = "on_getrq_layers"
		}
		for _, name := range []string{begins, "on_complete_layers"} {
			if got := slices.Contains(p.probe.Hooked(), name); got == stacked {
				t.Errorf("%s is attached: %v, where a disk lay on another before: %v", name, got, stacked)
			}
		}
		directReads(t, path, buf, stride(after, 16384))
		directReads(t, loop, buf, stride(through, 16384))
	})
	disk := strings.TrimPrefix(loop, "/dev/")
	own := func(e sample.Entity) bool {
		return e.PID == os.Getpid() && e.Class == "read" && e.Device != disk
	}
	if got, _ := w.SumWhere(sample.BlockOps, own); got > before+after+through || got < before+after+through-hidden {
		t.Errorf("%g reads of this process on the disk, want %d; %g completions were hidden", got, before+after+through, hidden)
	}
	if got, _ := w.SumWhere(sample.BlockOps, func(e sample.Entity) bool { return e.PID == os.Getpid() && e.Class == "read" && e.Device == disk }); got > through || got < through-hidden {
		t.Errorf("%g reads of this process on %s, want %d; %g completions were hidden", got, disk, through, hidden)
	}
}

// followsLayers skips a test on a kernel where no layer is followed.
func followsLayers(t *testing.T) {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(unix.ByteSliceToString(u.Release[:]), "5.10.") {
		t.Skip("before Linux 5.11 no layer is followed")
	}
}
