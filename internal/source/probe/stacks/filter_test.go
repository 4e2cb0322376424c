package stacks

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
)

// Only threads, or threads of processes, of the name are looked at.
func TestByName(t *testing.T) {
	const name = "iocause-napper" // 14 of 15 bytes
	rows, tid, _, _ := observe(t, Options{Min: time.Millisecond, Comm: name}, func() {
		nap(5 * time.Millisecond) // not called that yet
		text, err := unix.BytePtrFromString(name)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0)
		}
		if err != nil {
			t.Error(err)
		}
		for range 7 {
			nap(5 * time.Millisecond)
		}
		if old, err := unix.BytePtrFromString("stacks.test"); err == nil {
			_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(old)), 0, 0, 0)
		}
	})
	var sum time.Duration
	for _, r := range rows {
		// the first thread names the process, and so all of its threads
		if (r.TID != tid || r.Comm != name) && int(tid) != os.Getpid() {
			t.Errorf("thread %d, called %q", r.TID, r.Comm)
		}
		if r.How&Earlier == 0 {
			sum += r.Time
		}
	}
	if sum < 34*time.Millisecond {
		t.Errorf("%v of 7 naps of 5 ms", sum)
	}
}

// cgroups makes a cgroup inside another and one beside it, moves this process
// into the inner one, and returns the hierarchy and the three directories.
func cgroups(t *testing.T) (tree, outer, inner, other string, err error) {
	t.Helper()
	tree, top := "memory", "/sys/fs/cgroup/memory"
	if _, err := os.Stat(filepath.Join(top, "memory.limit_in_bytes")); err != nil {
		tree, top = "", "/sys/fs/cgroup"
	}
	outer = filepath.Join(top, fmt.Sprintf("iocause-test-%d", os.Getpid()))
	inner, other = filepath.Join(outer, "inner"), outer+"-other"
	for _, dir := range []string{outer, inner, other} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return tree, outer, inner, other, err
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	self := []byte(strconv.Itoa(os.Getpid()))
	t.Cleanup(func() {
		if err := os.WriteFile(filepath.Join(top, "cgroup.procs"), self, 0o600); err != nil {
			t.Error(err)
		}
	})
	return tree, outer, inner, other, os.WriteFile(filepath.Join(inner, "cgroup.procs"), self, 0o600)
}

// Only threads of the cgroup and of those below it are looked at.
func TestByCgroup(t *testing.T) {
	tree, outer, inner, other, err := cgroups(t)
	bpftest.Need(t, "cgroup", err)
	for dir, want := range map[string]bool{outer: true, inner: true, other: false} {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			t.Fatal(err)
		}
		rows, tid, _, _ := observe(t, Options{Min: time.Millisecond, Cgroup: st.Ino, Tree: tree}, func() { nap(20 * time.Millisecond) })
		if got := len(of(rows, tid)) > 0; got != want {
			t.Errorf("%s: seen %v, want %v", filepath.Base(dir), got, want)
		}
	}
}
