package labtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/lab"
)

// LoopMount is a file system on a loop device, on a file on disk.
func LoopMount(t testing.TB, kind string) (image, at string) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	image, at = filepath.Join(dir, "image"), filepath.Join(dir, "fs")
	const size = 320 << 20 // the least that mkfs.xfs takes
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, size), os.Mkdir(at, 0o700)); err != nil {
		t.Fatal(err)
	}
	Need(t, "root", "loop")
	for _, argv := range [][]string{{"mkfs." + kind, "-q", image}, {"mount", "-t", kind, "-o", "loop", image, at}} {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", argv[0], err, out)
		}
	}
	t.Cleanup(func() { Unmount(t, at) })
	return image, at
}

// LoopDevice is an empty loop device of 32 MiB over a file in a folder.
func LoopDevice(t testing.TB, dir string) string {
	t.Helper()
	Need(t, "root", "loop")
	f, err := os.CreateTemp(dir, "iocause-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Truncate(32 << 20); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", f.Name()).CombinedOutput()
	if err != nil {
		t.Fatalf("losetup: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup: %v: %s", err, out)
		}
	})
	time.Sleep(100 * time.Millisecond) // others look at a new device
	return device
}

// Overlay is an overlay on a disk over the folder below, and the folder in which it keeps
// what is written.
func Overlay(t testing.TB, below string) (at, upper string) {
	t.Helper()
	Need(t, "root")
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-") // on a tmpfs nothing can be dropped
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at, upper = filepath.Join(dir, "at"), filepath.Join(dir, "upper")
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(at, 0o700), os.Mkdir(upper, 0o700), os.Mkdir(work, 0o700)); err != nil {
		t.Fatal(err)
	}
	switch err := unix.Mount("overlay", at, "overlay", 0, "lowerdir="+below+",upperdir="+upper+",workdir="+work); {
	case err == nil:
	case lab.Demanded("loop"): // who may mount those may mount this
		t.Fatalf("mounting an overlay: %v", err)
	default:
		t.Skipf("needs a disk that an overlay can be mounted on: %v", err)
	}
	t.Cleanup(func() { Unmount(t, at) })
	return at, upper
}

// Unmount unmounts either.
func Unmount(t testing.TB, at string) {
	t.Helper()
	if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
		t.Errorf("umount: %v: %s", err, out)
	}
}
