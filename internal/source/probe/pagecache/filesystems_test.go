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
	"iocause/internal/lab/labtest"
	"iocause/internal/lab/load"
	"iocause/internal/sample"
)

// otherPages is the length of files on other file systems.
const otherPages = 10007

// Reads on file systems that have functions of their own.
func TestAccountOnOtherFileSystems(t *testing.T) {
	bpftest.ComparesFigures(t)
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			_, at := labtest.LoopMount(t, kind)
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

// Reads of a file of a server, whose client keeps pages of it (test/vm/layers 9p, virtiofs).
// IOCAUSE_SHARE is the file.
func TestAccountOnShares(t *testing.T) {
	path := os.Getenv("IOCAUSE_SHARE")
	if path == "" {
		t.Skip("IOCAUSE_SHARE names no file of a share")
	}
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []load.Spec{
		{Kind: "read", BlockSize: 64 << 10, Path: path},
		{Kind: "read", BlockSize: 64 << 10, Path: path, Warm: true},
	} {
		if wrong := against(t, spec, float64(file.Size())/float64(pageBytes)); len(wrong) > 0 {
			t.Errorf("warm: %v: %s", spec.Warm, strings.Join(wrong, "\n"))
		}
	}
}

// Overlayfs reads the file of another file system, for whoever reads its own.
func TestAccountOnOverlayfs(t *testing.T) {
	bpftest.ComparesFigures(t)
	lower := fileOf(t, otherPages)
	at, _ := labtest.Overlay(t, filepath.Dir(lower))
	path := filepath.Join(at, filepath.Base(lower))
	var ways []sample.Way
	w := bpftest.Observe(t, openTelling(&ways), func() {
		bpftest.Drop(t, lower)
		if b, err := os.ReadFile(path); err != nil || len(b) != otherPages*pageBytes {
			t.Fatalf("read %d bytes: %v", len(b), err)
		}
	})
	e := sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, path)}
	accesses, _ := w.Sum(sample.CacheAccesses, e)
	misses, _ := w.Sum(sample.CacheMisses, e)
	tellFigure(t, ways, accesses, otherPages, misses, otherPages)
	near(t, "accesses", accesses, otherPages)
	near(t, "cold pages", misses, otherPages)
}

// limited makes a cgroup that may have so much memory, and says how this process goes into
// it and out of it.
func limited(t *testing.T, bytes int) (enter, leave func() error) {
	t.Helper()
	old, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(old, limit)); err != nil {
		old, limit = "/sys/fs/cgroup", "memory.max"
	}
	group := filepath.Join(old, fmt.Sprintf("iocause-larger-%d", os.Getpid()))
	bpftest.Need(t, "cgroup", os.Mkdir(group, 0o755))
	join := func(dir string) func() error {
		return func() error {
			return os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, os.Getpid()), 0o600)
		}
	}
	enter, leave = join(group), join(old)
	t.Cleanup(func() {
		if err := errors.Join(leave(), os.Remove(group)); err != nil {
			t.Error(err)
		}
	})
	const least = 8 << 20 // with less the kernel may end this process
	bpftest.Need(t, "cgroup", os.WriteFile(filepath.Join(group, limit), fmt.Append(nil, max(bytes, least)), 0o600))
	return enter, leave
}

// readIn reads a file of so many pages from end to end in a cgroup of so many bytes, in
// calls of so many pages, and returns what was counted of this process.
func readIn(t *testing.T, bytes int, path string, pages, call int, ways *[]sample.Way) (w *sample.Window, accesses, misses float64) {
	t.Helper()
	enter, leave := limited(t, bytes)
	const part = 1 << 20 // the same memory again and again
	buf := make([]byte, part)
	parts := make([][]byte, (call*pageBytes+part-1)/part)
	for i := range parts {
		parts[i] = buf
	}
	// Memory that this process had given back, and takes again there, would be the cgroup's.
	debug.FreeOSMemory()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	// Where the kernel drops many pages in one go, with interrupts off, it may have no memory
	// for marks of some that were evicted (lost_chunks): these figures lose nothing by it.
	w = bpftest.ObserveOnce(t, openTelling(ways), func() {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := enter(); err != nil {
			t.Fatal(err)
		}
		var n, all int
		for n = 1; n > 0 && err == nil; all += n {
			n, err = unix.Preadv(fd, parts, int64(all))
		}
		if err := errors.Join(err, leave()); err != nil || all != pages*pageBytes {
			t.Fatalf("read %d of %d bytes: %v", all, pages*pageBytes, err)
		}
	})
	e := sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, path)}
	accesses, _ = w.Sum(sample.CacheAccesses, e)
	misses, _ = w.Sum(sample.CacheMisses, e)
	return w, accesses, misses
}

// One call that reads sixteen times what its cgroup may cache: the kernel drops
// pages that the call has read while it goes on.
func TestReadLargerThanItsCgroup(t *testing.T) {
	bpftest.ComparesFigures(t)
	pages := int(filePages(t)) * 5 // 1 GiB, about
	path := fileOf(t, pages)
	var ways []sample.Way
	w, accesses, misses := readIn(t, pages*pageBytes/16, path, pages, pages, &ways)
	tellFigure(t, ways, accesses, float64(pages), misses, float64(pages))
	near(t, "accesses", accesses, float64(pages))
	near(t, "cold pages", misses, float64(pages))
	// Of each run that is read as a whole one page is watched, of the last it is chance.
	touched, _ := w.Value(sample.CacheTouched, sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, path)})
	const run = 1 << touchShift
	if math.Abs(touched-float64(pages)) > run {
		t.Errorf("%.0f different pages, want %d within %d", touched, pages, run)
	}
}

// Of a disk that is about as fast as the memory the next folio is often being read while
// those before it are there, of which the kernel then makes no event: a call may come as
// far without one as its cgroup may cache, and take back what it has copied.
func TestCallsWithoutEvents(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, ahead = 20480, "2048" // in KiB
	image, at := labtest.LoopMount(t, "ext4")
	out, err := exec.Command("losetup", "--associated", image, "--noheadings", "--output", "NAME").Output()
	if err != nil {
		t.Fatal("losetup: ", err)
	}
	queue := filepath.Join("/sys/block", filepath.Base(strings.TrimSpace(string(out))), "queue/read_ahead_kb")
	if err := os.WriteFile(queue, []byte(ahead), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(at, "data")
	if err := os.WriteFile(path, make([]byte, pages*pageBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, call := range []int{pages, pages / 10} {
		t.Run(fmt.Sprint(call), func(t *testing.T) {
			bpftest.Drop(t, path)
			var ways []sample.Way
			_, accesses, misses := readIn(t, 0, path, pages, call, &ways)
			tellFigure(t, ways, accesses, pages, misses, pages)
			if accesses != pages || misses != pages {
				t.Errorf("accesses %.0f, misses %.0f, want %d each", accesses, misses, pages)
			}
		})
	}
}
