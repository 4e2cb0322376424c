package blockio

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// What is read past the page cache from a loop device that lies on another one is read from
// the upper one, once, also where the host hides the ends of some bios: those are in the way
// of later ones, which have their pages.
func TestALoopOnALoop(t *testing.T) {
	bpftest.Root(t)
	followsLayers(t)
	const count = 4001 // prime
	lower := attach(t, bpftest.File(t, 24<<20/4096))
	dir := t.TempDir()
	run(t, "mkfs.ext4", "-q", lower)
	run(t, "mount", lower, dir)
	t.Cleanup(func() { run(t, "umount", dir) })
	image := filepath.Join(dir, "image")
	require.NoError(t, os.WriteFile(image, make([]byte, count*4096), 0o600))
	upper := attach(t, image)
	buf := bpftest.Aligned(t, 4096)
	for range 3 {
		w := bpftest.ObserveOnce(t, Open, func() { directReads(t, upper, buf, stride(count, 4096)) })
		hidden := 0.0
		w.Each(sample.CostLost, func(_ sample.Entity, s *sample.Series) { hidden += s.Sum() })
		got, _ := w.Sum(sample.BlockDirect, sample.Entity{PID: os.Getpid()})
		t.Logf("%g blocks read directly; %g events were hidden", got/4096, hidden)
		if got != count*4096 {
			t.Errorf("%g bytes read directly, want %d", got, count*4096)
		}
	}
}

// attach makes a loop device of a file, past the page cache.
func attach(t *testing.T, image string) string {
	t.Helper()
	loop := run(t, "losetup", "--find", "--show", "--direct-io=on", image)
	t.Cleanup(func() { run(t, "losetup", "--detach", loop) })
	return loop
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return strings.TrimSpace(string(out))
}
