package cachewalk

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

func open(t *testing.T) *Walker {
	t.Helper()
	w, err := Open(host.Live())
	bpftest.Need(t, "bpf", err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func walk(t *testing.T, w *Walker) *Result {
	t.Helper()
	r, err := w.Walk(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Incomplete != "" {
		t.Fatal(r.Incomplete)
	}
	return r
}

// meminfo is Cached + Buffers, in bytes.
func meminfo(t *testing.T) float64 {
	t.Helper()
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := 0.0
	for s := bufio.NewScanner(f); s.Scan(); {
		field := strings.Fields(s.Text())
		if field[0] == "Cached:" || field[0] == "Buffers:" {
			kb, err := strconv.ParseFloat(field[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += kb * 1024
		}
	}
	return sum
}

// All files together are what the kernel says that the cache holds.
func TestTheSumIsTheCache(t *testing.T) {
	w := open(t)
	best := math.Inf(1)
	for range 5 { // others fill and empty the cache meanwhile
		before := meminfo(t)
		r := walk(t, w)
		truth := (before + meminfo(t)) / 2
		sum := 0.0
		for _, f := range r.Files {
			if f.Kind != Huge {
				sum += float64(f.Pages) * float64(os.Getpagesize())
			}
		}
		off := sum/truth - 1
		t.Logf("%d inodes of %d file systems, %d with pages, in %v (%v at a time), %d restarts: %.0f of %.0f bytes (%+.3f %%)",
			r.Inodes, r.Supers, len(r.Files), r.Took, r.Longest, r.Restarts, sum, truth, off*100)
		if math.Abs(off) < math.Abs(best) {
			best = off
		}
	}
	if math.Abs(best) > 0.005 {
		t.Errorf("the sum is off by %+.2f %%, want 0.5 %% at most", best*100)
	}
}

// fill makes a file with so many cached pages, and leaves it open.
func fill(t *testing.T, path string, pages int) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(make([]byte, pages*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	return f
}

// find is the one file of a walk with this identity.
func find(t *testing.T, r *Result, f *os.File) *File {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	dev := host.MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev))
	var found *File
	for i := range r.Files {
		if r.Files[i].Dev == dev && r.Files[i].Ino == st.Ino {
			if found != nil {
				t.Fatalf("%s is there twice", f.Name())
			}
			found = &r.Files[i]
		}
	}
	if found == nil {
		t.Fatalf("%s is missing", f.Name())
	}
	return found
}

const prime = 1009

func TestClosedDeletedAndHostileFiles(t *testing.T) {
	w := open(t)
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-") // /tmp may be in memory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	closed := fill(t, filepath.Join(dir, "closed"), prime)
	deleted := fill(t, filepath.Join(dir, "deleted"), prime+1)
	hostile := fill(t, filepath.Join(dir, "\x1b[2J\n\xff\u202e"), prime+2)
	memory, err := unix.MemfdCreate("memory", 0)
	if err != nil {
		t.Fatal(err)
	}
	shared := os.NewFile(uintptr(memory), "memory")
	t.Cleanup(func() { shared.Close() })
	if _, err := shared.Write(make([]byte, (prime+3)*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(deleted.Name()); err != nil {
		t.Fatal(err)
	}
	again, err := unix.Open(closed.Name(), unix.O_PATH, 0) // to stat it: does not count as open
	if err != nil {
		t.Fatal(err)
	}
	handle := os.NewFile(uintptr(again), closed.Name())
	t.Cleanup(func() { handle.Close() })
	closed.Close()
	mapped, err := unix.Mmap(int(hostile.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mapped) })

	r := walk(t, w)
	for _, c := range []struct {
		file  *os.File
		pages uint64
		kind  Kind
		links uint32
		path  string
		open  bool
	}{
		{handle, prime, Regular, 1, closed.Name(), false},
		{deleted, prime + 1, Regular, 0, deleted.Name(), true},
		{hostile, prime + 2, Regular, 1, hostile.Name(), true},
		{shared, prime + 3, Memory, 0, "/memfd:memory", true},
	} {
		f := find(t, r, c.file)
		if err := w.Names([]*File{f}); err != nil {
			t.Fatal(err)
		}
		if f.Pages != c.pages || f.Kind != c.kind || f.Links != c.links || f.Path != c.path {
			t.Errorf("%+v, want %+v", f, c)
		}
		if c.file != handle && f.PID != os.Getpid() {
			t.Errorf("%q is opened by %d, want %d", c.path, f.PID, os.Getpid())
		}
		if f.Mapped != (c.file == hostile) {
			t.Errorf("%q: mapped %v", c.path, f.Mapped)
		}
	}
}

// A name that is asked for after the file is gone, and its inode with it.
func TestNamesOfFilesThatAreGone(t *testing.T) {
	w := open(t)
	f := fill(t, filepath.Join(t.TempDir(), "gone"), prime)
	r := walk(t, w)
	found := find(t, r, f)
	found.Ino++ // as if another file had taken its place
	if err := w.Names([]*File{found}); err != nil || found.Path != "" {
		t.Errorf("%v, path %q of another file", err, found.Path)
	}
}

// More names than fit one call, deep ones and those of block devices.
func TestManyNames(t *testing.T) {
	w := open(t)
	fill(t, filepath.Join(t.TempDir(), "one"), prime)
	r := walk(t, w)
	var all []*File
	named := map[Kind]int{}
	for i := range r.Files {
		all = append(all, &r.Files[i])
	}
	if err := w.Names(all); err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Path != "" {
			named[f.Kind]++
		}
		if f.Kind == Block && !strings.HasPrefix(f.Path, "/dev/") {
			t.Errorf("block device %v is %q", f.Device, f.Path)
		}
	}
	if named[Regular]+named[Memory] == 0 {
		t.Errorf("named %v of %d files", named, len(all))
	}
}
