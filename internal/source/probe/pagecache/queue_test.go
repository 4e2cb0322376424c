package pagecache

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// spin keeps a processor busy until the process is killed.
func spin(processor int) error {
	runtime.LockOSThread()
	if err := pin(processor); err != nil {
		return err
	}
	for n := 1; n != 0; n = n*5 + 1 { // odd and even by turns, and never 0
	}
	return nil
}

func pin(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	return unix.SchedSetaffinity(0, &set)
}

// schedule is what the kernel says of a thread: the time that passed, that it ran,
// and that it queued for a processor.
type schedule struct{ passed, ran, queued time.Duration }

func (s *schedule) slept() float64 { return (s.passed - s.ran - s.queued).Seconds() }

// asleep is that of the running thread while it does f.
func asleep(f func() error) (s schedule, err error) {
	ran, queued, err := schedstat()
	if err != nil {
		return s, err
	}
	from := time.Now()
	if err := f(); err != nil {
		return s, err
	}
	s.passed = time.Since(from)
	s.ran, s.queued, err = schedstat()
	s.ran -= ran
	s.queued -= queued
	return s, err
}

func schedstat() (ran, queued time.Duration, err error) {
	b, err := os.ReadFile("/proc/thread-self/schedstat")
	if err == nil {
		_, err = fmt.Sscan(string(b), &ran, &queued)
	}
	return ran, queued, err
}

// truth is what a job left behind.
func truth(t *testing.T, path string) (s schedule) {
	t.Helper()
	b, err := os.ReadFile(path + ".truth")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(b), &s.passed, &s.ran, &s.queued); err != nil {
		t.Fatal(err)
	}
	return s
}

// membarrierGlobal waits until every processor has run another task, or nothing.
const membarrierGlobal = 1

// crowded makes count direct reads, synced writes or barriers, on a processor, and leaves
// behind what the kernel says of its thread meanwhile.
func crowded(path, kind string, processor, count int) error {
	if err := pin(processor); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buf, err := unix.Mmap(-1, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	s, err := asleep(func() error {
		for i := range count {
			data, at := uintptr(unsafe.Pointer(&buf[0])), uintptr(i*pageBytes)
			// raw, so that it waits for nothing of Go's in between
			if kind == "barrier" {
				if _, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0); errno != 0 {
					return errno
				}
			} else if kind == "sync" {
				if _, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), data, uintptr(pageBytes), at, 0, 0); errno != 0 {
					return errno
				}
				if _, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, uintptr(fd), 0, 0); errno != 0 {
					return errno
				}
			} else if _, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), data, uintptr(pageBytes), at, 0, 0); errno != 0 {
				return errno
			}
		}
		return nil
	})
	return errors.Join(err, os.WriteFile(path+".truth", fmt.Appendf(nil, "%d %d %d", s.passed, s.ran, s.queued), 0o600))
}

// diskTime is the milliseconds that all requests of a file's device took so far.
func diskTime(t *testing.T, path string) float64 {
	t.Helper()
	id := bpftest.ID(t, path)
	b, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", id.Dev>>20, id.Dev&(1<<20-1)))
	if err != nil {
		bpftest.Need(t, "bpf", err)
	}
	var reads, merged, sectors, readTime, writes, writeMerged, writeSectors, writeTime float64
	if _, err := fmt.Sscan(string(b), &reads, &merged, &sectors, &readTime, &writes, &writeMerged, &writeSectors, &writeTime); err != nil {
		t.Fatal(err)
	}
	var flush float64
	if f := strings.Fields(string(b)); len(f) > 16 {
		if _, err := fmt.Sscan(f[16], &flush); err != nil {
			t.Fatal(err)
		}
	}
	return readTime + writeTime + flush
}

// A thread that is woken when its I/O is done, and then queues for a processor that
// others keep busy, waits for the processor and no longer for I/O.
func TestQueueingAfterTheWakeUp(t *testing.T) {
	bpftest.ComparesFigures(t)
	_, queued, err := schedstat()
	if err == nil && queued == 0 {
		err = errors.New("the kernel does not tell how long threads queue")
	}
	bpftest.Need(t, "bpf", err)
	const count = 503
	processor := runtime.NumCPU() - 1
	path := fileOf(t, count+1)
	for range 3 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("PAGECACHE_JOB=spin %s %d", filepath.Base(path), processor))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	}
	for _, kind := range []string{"direct", "sync"} {
		disk, stolen := diskTime(t, path), bpftest.Stolen(t)
		f := observe(t, path, fmt.Sprintf("crowded %s %s %d %d", path, kind, processor, count))
		disk, stolen = diskTime(t, path)-disk, bpftest.Stolen(t)-stolen
		of := truth(t, path)
		waited := 0.0
		f.window.Each(sample.WaitIO, func(e sample.Entity, s *sample.Series) {
			if e.PID == f.pid {
				waited += s.Sum()
			}
		})
		awake, _ := f.window.Sum(sample.WaitAwake, sample.Entity{PID: f.pid})
		t.Logf("%s: passed %s, ran %s, queued %s; waited %.4f s for I/O, awake %.4f; the disk's requests took %.0f ms",
			kind, of.passed, of.ran, of.queued, waited, awake, disk)
		if of.queued < of.passed/20 {
			t.Errorf("%s: it queued %s of %s only, nothing is shown", kind, of.queued, of.passed)
		}
		// what interrupts and the hypervisor take is none of what it ran, and no wait
		if slept, slack := of.slept(), 0.002+count*20e-6; waited < 0.7*slept-slack-stolen.Seconds() || waited > slept+slack {
			t.Errorf("%s: waited %.4f s for I/O, and the thread slept %.4f", kind, waited, slept)
		}
		if waited > 1.2*disk/1e3+0.01 {
			t.Errorf("%s: waited %.4f s for I/O, and the disk's requests took %.0f ms in all", kind, waited, disk)
		}
		// more of the process is awake than this thread, in which nothing counts twice
		if sum := waited + (of.ran + of.queued).Seconds(); sum > of.passed.Seconds()*1.02+0.002 || awake < 0.98*sum {
			t.Errorf("%s: waited, ran and queued %.4f s of %s, awake %.4f", kind, sum, of.passed, awake)
		}
	}
}
