package pagecache

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// What is waited for is told by where in the kernel a thread sleeps, whatever
// the call is.
func TestWhatIsWaitedFor(t *testing.T) {
	bpftest.ComparesFigures(t)
	if _, err := readRules(host.Live()); err != nil {
		bpftest.Need(t, "bpf", err)
	}
	path := fileOf(t, 40009)
	cold, tiny := coldTree(t, 499), tinyJournal(t)
	for _, c := range []struct {
		job  string
		want string
	}{
		{fmt.Sprintf("random %s 8192 2003", path), "page"},
		{fmt.Sprintf("map %s 1 1009", path), "page"},
		{fmt.Sprintf("direct %s 4096 503", path), "direct"},
		{fmt.Sprintf("pool %s 700 1", path), "writeback commit flush queue"},
		{fmt.Sprintf("list %s", cold), "metadata"},
		{fmt.Sprintf("create %s 6007", tiny), "journal"},
		{fmt.Sprintf("commit %s 101", tiny), "commit flush"},
	} {
		bpftest.Drop(t, path)
		f := observe(t, path, c.job)
		total, wanted, by := 0.0, 0.0, map[string]float64{}
		f.window.Each(sample.WaitFor, func(e sample.Entity, s *sample.Series) {
			if e.PID != f.pid {
				return
			}
			by[e.Class] += s.Sum()
			total += s.Sum()
			if strings.Contains(" "+c.want+" ", " "+e.Class+" ") {
				wanted += s.Sum()
			}
		})
		t.Logf("%s: %v", strings.Fields(c.job)[0], by)
		if total == 0 || wanted < 0.8*total {
			t.Errorf("%s: waited %.3f s for %s, of %.3f in all: %v", c.job, wanted, c.want, total, by)
		}
		calls := 0.0
		f.window.Each(sample.WaitIO, func(e sample.Entity, s *sample.Series) {
			if e.PID == f.pid {
				calls += s.Sum()
			}
		})
		if total < 0.99*calls || total > 1.01*calls {
			t.Errorf("%s: waited %.4f s by what for, %.4f by call", c.job, total, calls)
		}
	}
}

// The window has in which second a process waited, and how long.
func TestCourseOfWaiting(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := fileOf(t, 40009)
	p, r := opened(t)
	from, pid := time.Now(), 0
	for i := range 4 {
		if i == 2 {
			pid = run(t, fmt.Sprintf("direct %s 4096 503", path)).Process.Pid
		}
		r.At(from.Add(time.Duration(i+1) * time.Second))
		bpftest.Collect(t, p, sample.Tick, r)
	}
	bpftest.Collect(t, p, sample.Last, r)
	w := r.Window(time.Now())
	waited := 0.0
	w.Each(sample.WaitIO, func(e sample.Entity, s *sample.Series) {
		if e.PID == pid {
			waited += s.Sum()
		}
	})
	s := w.Get(sample.WaitCourse, sample.Entity{PID: pid})
	if s == nil || len(s.Points) != 1 || s.Points[0].At.Round(time.Second/10) != 3*time.Second {
		t.Fatalf("it waited %.4f s in the third second, its course is %+v", waited, s)
	}
	if math.Abs(s.Sum()-waited) > 0.010 {
		t.Errorf("it waited %.4f s, by its course %.4f", waited, s.Sum())
	}
}

// A wait for a lock of a file is seen, and is no wait for I/O.
func TestWaitsForLocksOfFiles(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := fileOf(t, 1)
	f := observe(t, path, fmt.Sprintf("flock %s 307", path))
	e := sample.Entity{PID: f.pid, Class: "file"}
	s, _ := f.window.Sum(sample.LockWait, e)
	n, _ := f.window.Sum(sample.LockWaits, e)
	if s < 0.3 || s > 0.6 || n != 1 {
		t.Errorf("%g waits of %.3f s, want one of 0.307", n, s)
	}
}

// Sleep that no signal ends, outside of calls for files and in functions that no rule
// names, is counted beside the waits for I/O, and is none of them.
func TestUnnamedWaits(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := fileOf(t, 1)
	f := observe(t, path, fmt.Sprintf("crowded %s barrier 0 31", path))
	of := truth(t, path)
	unnamed, _ := f.window.Sum(sample.WaitUnnamed, sample.Entity{PID: f.pid})
	if slept := of.slept(); slept < 0.05 || math.Abs(unnamed-slept) > 0.02*slept+0.005 {
		t.Errorf("%.4f s without a name, it slept %.4f", unnamed, slept)
	}
	f.window.Each(sample.WaitIO, func(e sample.Entity, s *sample.Series) {
		if e.PID == f.pid && s.Sum() > 0.05*unnamed {
			t.Errorf("%.4f s of %s are for I/O", s.Sum(), e.Class)
		}
	})
}

// flock waits for a lock that another holds for so long.
func flock(path string, length time.Duration) error {
	holder, err := os.Open(path)
	if err != nil {
		return err
	}
	waiter, err := os.Open(path)
	if err != nil {
		return errors.Join(err, holder.Close())
	}
	if err := unix.Flock(int(holder.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	time.AfterFunc(length, func() { holder.Close() })
	err = unix.EINTR
	for err == unix.EINTR {
		err = unix.Flock(int(waiter.Fd()), unix.LOCK_EX)
	}
	return errors.Join(err, waiter.Close())
}

// coldTree is a file system of its own with many directories, none of them cached.
func coldTree(t *testing.T, directories int) string {
	t.Helper()
	dir := fileOf(t, 1) // where files are on a disk
	image, at := dir+".image", dir+".mount"
	do := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			bpftest.Need(t, "bpf", fmt.Errorf("%s: %w: %s", name, err, out))
		}
	}
	do("truncate", "-s", "1G", image)
	t.Cleanup(func() { os.Remove(image) })
	do("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", image)
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(at) })
	do("mount", "-o", "loop", image, at)
	mounted := true
	t.Cleanup(func() {
		if mounted {
			do("umount", at)
		}
	})
	for i := range directories {
		sub := filepath.Join(at, fmt.Sprint(i%7), fmt.Sprint(i))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do("umount", at)
	mounted = false
	do("sync", image)
	bpftest.Drop(t, image)
	do("mount", "-o", "loop", image, at)
	mounted = true
	return at
}

// tinyJournal is a file system whose journal has room for a few changes only.
func tinyJournal(t *testing.T) string {
	t.Helper()
	at := fileOf(t, 1) + ".mount"
	image := at + ".image"
	for _, c := range [][]string{
		{"truncate", "-s", "64M", image},
		{"mkfs.ext4", "-q", "-b", "1024", "-J", "size=1", "-N", "16384", "-E", "lazy_itable_init=0", image},
		{"mkdir", at},
		{"mount", "-o", "loop", image, at},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			bpftest.Need(t, "bpf", fmt.Errorf("%v: %w: %s", c, err, out))
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Unmount(at, 0), os.Remove(at), os.Remove(image)); err != nil {
			t.Error(err)
		}
	})
	return at
}

// create makes so many empty files, and syncs each where that is asked for.
func create(dir string, n int, sync bool) error {
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if sync {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// list looks at every file below a directory.
func list(dir string) error {
	return filepath.Walk(dir, func(_ string, _ os.FileInfo, err error) error { return err })
}
