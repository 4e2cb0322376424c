package pagecache

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/load"
	"iocause/internal/sample"
)

// loopMount is a file system on a loop device, on a file on disk.
func loopMount(t *testing.T, kind string) (image, at string) {
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
	for _, argv := range [][]string{{"mkfs." + kind, "-q", image}, {"mount", "-t", kind, "-o", "loop", image, at}} {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", argv[0], err, out)
		}
		bpftest.Need(t, "loop", err)
	}
	t.Cleanup(func() { unmount(t, at) })
	return image, at
}

func unmount(t *testing.T, at string) {
	t.Helper()
	if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
		t.Errorf("umount: %v: %s", err, out)
	}
}

// otherPages is the length of files on other file systems.
const otherPages = 10007

// Reads on file systems that have functions of their own.
func TestAccountOnOtherFileSystems(t *testing.T) {
	bpftest.ComparesFigures(t)
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			_, at := loopMount(t, kind)
			path := filepath.Join(at, "data")
			if err := os.WriteFile(path, make([]byte, otherPages*pageBytes), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, spec := range []load.Spec{
				{Kind: "read", BlockSize: 64 << 10, Path: path},
				{Kind: "randread", Order: load.Once, Path: path},
			} {
				t.Run(string(spec.Kind), func(t *testing.T) {
					var wrong []string
					for range tries {
						if wrong = against(t, spec, otherPages); len(wrong) == 0 {
							return
						}
					}
					t.Errorf("wrong %d times:\n%s", tries, strings.Join(wrong, "\n"))
				})
			}
		})
	}
}

// Overlayfs reads the file of another file system, for whoever reads its own.
func TestAccountOnOverlayfs(t *testing.T) {
	bpftest.ComparesFigures(t)
	lower := fileOf(t, otherPages)
	var dirs [3]string
	for i := range dirs {
		var err error
		if dirs[i], err = os.MkdirTemp("/var/tmp", "iocause-test-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dirs[i]) })
	}
	err := unix.Mount("overlay", dirs[0], "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", filepath.Dir(lower), dirs[1], dirs[2]))
	bpftest.Need(t, "loop", err)
	t.Cleanup(func() { unmount(t, dirs[0]) })
	path := filepath.Join(dirs[0], filepath.Base(lower))
	var ways []sample.Way
	w := bpftest.Observe(t, openTelling(&ways), func() {
		bpftest.Drop(t, lower)
		if b, err := os.ReadFile(path); err != nil || len(b) != otherPages*pageBytes {
			t.Fatalf("read %d bytes: %v", len(b), err)
		}
	})
	e := sample.Entity{PID: os.Getpid(), File: fileIn(t, w, path)}
	accesses, _ := w.Sum(sample.CacheAccesses, e)
	misses, _ := w.Sum(sample.CacheMisses, e)
	tellFigure(t, ways, accesses, otherPages, misses, otherPages)
	near(t, "accesses", accesses, otherPages)
	near(t, "cold pages", misses, otherPages)
}

// One call that reads sixteen times what its cgroup may cache: the kernel drops
// pages that the call has read while it goes on.
func TestReadLargerThanItsCgroup(t *testing.T) {
	bpftest.ComparesFigures(t)
	pages := int(filePages(t)) * 5 // 1 GiB, about
	path := fileOf(t, pages)
	old, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(old, limit)); err != nil {
		old, limit = "/sys/fs/cgroup", "memory.max"
	}
	group := filepath.Join(old, fmt.Sprintf("iocause-larger-%d", os.Getpid()))
	bpftest.Need(t, "cgroup", os.Mkdir(group, 0o755))
	join := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, os.Getpid()), 0o600)
	}
	t.Cleanup(func() {
		if err := errors.Join(join(old), os.Remove(group)); err != nil {
			t.Error(err)
		}
	})
	const least = 8 << 20 // with less the kernel may end this process
	bpftest.Need(t, "cgroup", os.WriteFile(filepath.Join(group, limit), fmt.Append(nil, max(pages*pageBytes/16, least)), 0o600))
	const part = 1 << 20 // the same memory again and again
	buf := make([]byte, part)
	parts := make([][]byte, (pages*pageBytes+part-1)/part)
	for i := range parts {
		parts[i] = buf
	}
	var ways []sample.Way
	// Memory that this process had given back, and takes again there, would be the cgroup's.
	debug.FreeOSMemory()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	// Where the kernel drops many pages in one go, with interrupts off, it may have no memory
	// for marks of some that were evicted (lost_chunks): these figures lose nothing by it.
	w := bpftest.ObserveOnce(t, openTelling(&ways), func() {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := join(group); err != nil {
			t.Fatal(err)
		}
		n, err := unix.Preadv(fd, parts, 0)
		if err := errors.Join(err, join(old)); err != nil || n != pages*pageBytes {
			t.Fatalf("read %d of %d bytes: %v", n, pages*pageBytes, err)
		}
	})
	e := sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, path)}
	accesses, _ := w.Sum(sample.CacheAccesses, e)
	misses, _ := w.Sum(sample.CacheMisses, e)
	tellFigure(t, ways, accesses, float64(pages), misses, float64(pages))
	near(t, "accesses", accesses, float64(pages))
	near(t, "cold pages", misses, float64(pages))
	// Of each run that is read as a whole one page is watched, of the last it is chance.
	touched, _ := w.Value(sample.CacheTouched, e)
	const run = 1 << touchShift
	if math.Abs(touched-float64(pages)) > run {
		t.Errorf("%.0f different pages, want %d within %d", touched, pages, run)
	}
}
