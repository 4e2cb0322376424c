package pagecache

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// The wait for a page of a daemon's file is charged to the file when a window ends, though
// it goes on, and not once more when it is over. It is the second of two threads that waits
// for the page: the first waits for the answer, whose file system is known. What fsync waits
// for are answers, too.
func TestWaitsThatGoOn(t *testing.T) {
	env, err := labtest.New(t, t.TempDir())
	bpftest.Need(t, "bpf", err)
	path, err := env.ServeFile(os.Args[0], "slow", &lab.ServedFile{Size: 4096, Heads: 1}, 3*time.Second)
	bpftest.Need(t, "fuse", err)
	file := bpftest.ID(t, path)
	for _, c := range []struct {
		job  string
		ends sample.Phase
	}{{"both", sample.IntervalEnd}, {"both", sample.Last}, {"save", sample.IntervalEnd}} {
		p, r := opened(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), "PAGECACHE_JOB="+c.job+" "+path+" 4096 1"), os.Stderr
		require.NoError(t, cmd.Start())
		for times := 0; times < 10; time.Sleep(10 * time.Millisecond) { // and not for a moment, as it begins
			if times++; !blocked(cmd.Process.Pid) {
				times = 0
			}
		}
		time.Sleep(time.Second / 2)
		bpftest.Collect(t, p, c.ends, r)
		first := r.NextWindow(time.Now())
		require.NoError(t, cmd.Wait())
		waited := func(w *sample.Window, class string) float64 {
			n, _ := w.Sum(sample.WaitFor, sample.Entity{PID: cmd.Process.Pid, Class: class})
			return n
		}
		charged := func(w *sample.Window) float64 {
			n, _ := w.Sum(sample.CacheWait, sample.Entity{PID: cmd.Process.Pid, File: file})
			return n
		}
		answer, page := waited(first, sample.ClassFUSE), waited(first, sample.ClassPage)
		asked := func(w *sample.Window) float64 {
			n, _ := w.Sum(sample.MountWait, sample.Entity{PID: cmd.Process.Pid, Device: host.DevNumber(file.Dev).String()})
			return n
		}
		if want := map[string]float64{"both": answer}[c.job]; answer < 0.3 || math.Abs(asked(first)-want) > 0.01*want {
			t.Errorf("%s: it waited %.3f s for an answer, and %.3f s for one of this file system", c.job, answer, asked(first))
		}
		if _, noted := first.Files[file]; c.job == "both" && (page < 0.3 || math.Abs(charged(first)-page) > 0.01*page || !noted) {
			t.Errorf("%v: %.3f s of %.3f s are the file's, of which something is known: %v", c.ends, charged(first), page, noted)
		}
		if c.ends == sample.Last {
			continue
		}
		bpftest.Collect(t, p, sample.Last, r)
		second := r.Window(time.Now())
		if c.job == "save" { // after the page has been read, for a fault, which has no file
			if n, lost := asked(second), waited(second, sample.ClassWriteback); n < 2.9 || lost > 0 {
				t.Errorf("in fsync it waited %.3f s for an answer, and %.3f s for writeback", n, lost)
			}
			continue
		}
		all := answer + page + waited(second, sample.ClassFUSE) + waited(second, sample.ClassPage)
		if both := charged(first) + charged(second); math.Abs(both-all) > 0.01*all {
			t.Errorf("%.3f of %.3f s in all are the file's", both, all)
		}
	}
}

// blocked tells whether a thread of a process sleeps uninterruptibly, or the process is over.
func blocked(pid int) bool {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range all {
		b, err := os.ReadFile(path)
		if s := string(b); err == nil && strings.ContainsAny(s[strings.LastIndexByte(s, ')')+1:][:2], "DZ") {
			return true
		}
	}
	return err != nil || len(all) == 0
}

// both reads a page twice at a time.
func both(fd, size int) error {
	done := make(chan error)
	read := func() {
		_, err := unix.Pread(fd, make([]byte, size), 0)
		done <- err
	}
	go read()
	time.Sleep(100 * time.Millisecond)
	go read()
	return errors.Join(<-done, <-done)
}

// save writes to a file through memory, and waits until it has it.
func save(fd, size int) error {
	m, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	m[0]++
	return unix.Fsync(fd)
}

// serve is the daemon.
func serve(size, heads string) error {
	bytes, err1 := strconv.ParseInt(size, 10, 64)
	n, err2 := strconv.Atoi(heads)
	return errors.Join(err1, err2, lab.ServeDisk(3, &lab.ServedFile{Size: bytes, Heads: n}, os.Stdin, os.Stdout))
}
