// Package bpftest holds what the tests of all probes need.
package bpftest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// ComparesFigures skips a test that only compares what kernel programs count
// with the truth where time is short: under the race detector, which finds
// nothing in it.
func ComparesFigures(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it only compares figures, and time is short")
	}
}

// Stolen is the time, summed over processors, that the hypervisor gave to others
// since boot, from /proc/stat: a thread is on its processor then, and its own
// clock stands still (kernel/sched/core.c, update_rq_clock_task).
func Stolen(t testing.TB) time.Duration {
	t.Helper()
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	const place, tick = 8, 10 * time.Millisecond // in "cpu user nice system idle iowait irq softirq steal"; USER_HZ is 100
	fields := strings.Fields(string(b))
	n, err := strconv.ParseInt(fields[place], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * tick
}

// Need skips a test for want of a capability, and fails it where
// IOCAUSE_REQUIRE promises that capability.
func Need(t testing.TB, capability string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, r := range strings.Split(os.Getenv("IOCAUSE_REQUIRE"), ",") {
		if r == capability {
			t.Fatalf("%s is required: %v", capability, err)
		}
	}
	t.Skipf("needs %s: %v", capability, err)
}

// Root skips a test that needs root, and fails it where IOCAUSE_REQUIRE promises
// what only root may do.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Need(t, "bpf", errors.New("root"))
	}
}

// Observe runs f in this process under a probe and returns the window. The
// probe must lose nothing. A host that hides completions from programs, or that
// interrupts a program with its own event, which the probe notices, gets another
// try.
func Observe(t *testing.T, open func(*host.Host) (sample.Source, error), f func()) *sample.Window {
	t.Helper()
	for try := 1; ; try++ {
		w := ObserveOnce(t, open, f)
		hidden := ""
		w.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
			if (strings.HasSuffix(e.Class, " missed_completions") || strings.HasSuffix(e.Class, " recursion")) && try < 5 {
				hidden += fmt.Sprintf(" %s: %g", e.Class, s.Sum())
				return
			}
			t.Errorf("lost %s: %g", e.Class, s.Sum())
		})
		if hidden == "" {
			return w
		}
		t.Logf("try %d: this host hid events:%s", try, hidden)
	}
}

// ObserveSeen is Observe where requests are counted at their completion, without another
// try for those that the host hides from programs: it tells how many of so many bytes (0:
// of any) were hidden. What the probe misses must be among all that were, in one of five
// tries.
func ObserveSeen(t *testing.T, bytes int32, open func(*host.Host) (sample.Source, error), f func()) (w *sample.Window, hidden float64) {
	t.Helper()
	for try := 1; ; try++ {
		all, these := Hidden(t, 0), Hidden(t, bytes)
		w = ObserveOnce(t, open, f)
		most := all()
		hidden = these()
		missed, interrupted := 0.0, 0.0
		w.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
			switch {
			case strings.HasSuffix(e.Class, " missed_completions"):
				missed += s.Sum()
			case strings.HasSuffix(e.Class, " recursion"):
				interrupted += s.Sum()
			default:
				t.Errorf("lost %s: %g", e.Class, s.Sum())
			}
		})
		if interrupted == 0 && missed <= most {
			return w, hidden
		}
		if try == 5 {
			t.Errorf("%g completions were missed and %g hidden, and programs were interrupted %g times", missed, most, interrupted)
			return w, hidden
		}
		t.Logf("try %d: %g completions were missed and %g hidden, and programs were interrupted %g times", try, missed, most, interrupted)
	}
}

// ObserveOnce is Observe without another try, for figures that what the host
// hides of other events takes nothing from.
func ObserveOnce(t *testing.T, open func(*host.Host) (sample.Source, error), f func()) *sample.Window {
	t.Helper()
	h := host.Live()
	h.Self = 0 // here it is this process that is looked at
	p, err := open(h)
	Need(t, "bpf", err)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := sample.NewRecorder(time.Now())
	Collect(t, p, sample.First, r)
	f()
	r.At(time.Now())
	Collect(t, p, sample.Last, r)
	return r.Window(time.Now())
}

// Collect collects a source once.
func Collect(t testing.TB, s sample.Source, phase sample.Phase, r *sample.Recorder) {
	t.Helper()
	if err := s.Collect(phase, r); err != nil {
		t.Fatal(err)
	}
}

// File makes a file of n pages of 4096 bytes on a real disk, written out and
// dropped from the cache.
func File(t *testing.T, pages int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-") // /tmp may be in memory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "data")
	if err := os.WriteFile(path, make([]byte, pages*4096), 0o600); err != nil {
		t.Fatal(err)
	}
	Drop(t, path)
	return path
}

// Drop writes a file out and drops it from the cache, and makes sure that it
// is gone: pages that are still being read cannot be dropped.
func Drop(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var left unix.CachestatRange
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		var have unix.Cachestat_t
		err := unix.Cachestat(uint(f.Fd()), &left, &have, 0)
		if err == unix.ENOSYS || err == nil && have.Cache == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d pages of %s cannot be dropped", have.Cache, path)
		}
	}
}

// ID is the identity of a file as the probes report it.
func ID(t *testing.T, path string) sample.FileID {
	t.Helper()
	dev, ino, err := host.Live().InCache(path)
	if err != nil {
		t.Fatal(err)
	}
	return sample.FileID{Dev: uint32(dev), Ino: ino}
}

// Aligned is a buffer that O_DIRECT accepts.
func Aligned(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// InThreads runs f in n threads at a time, each with its number, and waits for them.
func InThreads(n int, f func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			runtime.LockOSThread() // and end the thread with the goroutine
			<-start
			f(i)
		})
	}
	close(start)
	all.Wait()
}

// Ended is the number of a process that has ended.
func Ended(t *testing.T) int {
	t.Helper()
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return p.Pid
}
