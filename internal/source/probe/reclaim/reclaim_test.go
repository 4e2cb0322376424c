package reclaim

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// memoryCgroup makes a memory cgroup with a limit and moves this process in.
func memoryCgroup(t testing.TB, limit int) error {
	t.Helper()
	dir, file, procs := "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "cgroup.procs"
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		dir, file = "/sys/fs/cgroup", "memory.max"
	}
	old := dir
	dir = filepath.Join(dir, fmt.Sprintf("iocause-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := os.WriteFile(filepath.Join(old, procs), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(limit)), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, procs), []byte(strconv.Itoa(os.Getpid())), 0o600)
}

// Reading more than its cgroup may cache makes a process reclaim.
func TestReclaimInACgroup(t *testing.T) {
	const pages = 32771 // twice what the cgroup may cache, which must be enough to load the probe
	path := bpftest.File(t, pages)
	bpftest.Need(t, "cgroup", memoryCgroup(t, 64<<20))
	w := bpftest.Observe(t, Open, func() {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		buf := make([]byte, 1<<16)
		for {
			n, err := unix.Read(fd, buf)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return
			}
		}
	})
	e := sample.Entity{PID: os.Getpid(), Class: "cgroup"}
	n, _ := w.Sum(sample.ReclaimStalls, e)
	s, _ := w.Sum(sample.ReclaimTime, e)
	if threads, _ := w.Value(sample.ReclaimThreads, sample.Entity{PID: os.Getpid()}); threads < 1 || threads > 4 {
		t.Errorf("%g threads stalled, want the one that reads and at most a few of the runtime's", threads)
	}
	if n < 10 || s <= 0 || s > w.Seconds() {
		t.Errorf("%g stalls of %g s in all in a window of %g s, want at least 10", n, s, w.Seconds())
	}
}
