package labtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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

// Unmount unmounts it.
func Unmount(t testing.TB, at string) {
	t.Helper()
	if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
		t.Errorf("umount: %v: %s", err, out)
	}
}
