package pagecache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// pool is a loop of fdatasync in one thread, beside count others that did it
// once and then rest. It leaves behind what the kernel says of that thread.
func pool(path string, count int, length time.Duration) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	sync1 := func(at int) error {
		if _, err := unix.Pwrite(int(f.Fd()), []byte{1}, int64(at*pageBytes)); err != nil {
			return err
		}
		return unix.Fdatasync(int(f.Fd()))
	}
	rest := make(chan struct{})
	var ready, done sync.WaitGroup
	for i := range count {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread() // no thread stands for two
			_ = sync1(i)
			ready.Done()
			<-rest
		})
	}
	ready.Wait()
	runtime.LockOSThread()
	slept, err := asleep(func() error {
		for from := time.Now(); time.Since(from) < length; {
			if err := sync1(count); err != nil {
				return err
			}
		}
		return nil
	})
	close(rest)
	done.Wait()
	return errors.Join(err, os.WriteFile(path+".truth", fmt.Appendf(nil, "%d %d %d", slept.passed, slept.ran, slept.queued), 0o600))
}

// Threads at rest take nothing away from one that waits: it is the worst, and
// the share of those that wait is its own.
func TestOneThreadWaitsBesideAPool(t *testing.T) {
	bpftest.ComparesFigures(t)
	const threads, length = 41, 1500 * time.Millisecond
	path := fileOf(t, 1009)
	f := observe(t, path, fmt.Sprintf("pool %s %d %d", path, length.Milliseconds(), threads))
	e := sample.Entity{PID: f.pid}
	get := func(m sample.Metric) float64 { v, _ := f.window.Sum(m, e); return v }
	total := 0.0
	f.window.Each(sample.WaitIO, func(e sample.Entity, s *sample.Series) {
		if e.PID == f.pid {
			total += s.Sum()
		}
	})
	worst, weighted, awake := get(sample.WaitWorst), get(sample.WaitWeighted), get(sample.WaitAwake)
	t.Logf("waited %.3f s, the worst %.3f, weighted %.3f, awake %.3f, held %g of %g threads, %g waited",
		total, worst, weighted, awake, get(sample.WaitHeld), get(sample.WaitRan), get(sample.WaitThreads))
	// what interrupts take, and waits of Go's scheduler, are in what it slept
	loop := truth(t, path)
	if slept := loop.slept(); worst < slept/2 || worst > total {
		t.Errorf("the worst thread waited %.3f s of %.3f, and the one in the loop slept %.3f", worst, total, slept)
	}
	// on a busy machine it queues for a processor as well
	if share, own := weighted/total, worst/loop.passed.Seconds(); share < 0.8*own || share > 1 {
		t.Errorf("those that wait do so for %.3f of their time awake, want about %.3f", share, own)
	}
	if awake < 0.95*length.Seconds() {
		t.Errorf("%.3f s awake, want at least %s", awake, length)
	}
	used := time.Duration(f.usage.Utime.Nano() + f.usage.Stime.Nano()).Seconds()
	if rest := awake - total; rest < 0.8*used-0.02 { // it queues for a processor, too
		t.Errorf("%.3f s awake besides waiting, and the kernel counts %.3f s on processors", rest, used)
	}
	if n := get(sample.WaitThreads); n < threads {
		t.Errorf("%g threads waited, want at least %d", n, threads)
	}
}

// The rows of processes that have ended go with the window that tells of them.
func TestRowsOfEndedProcessesGo(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := fileOf(t, 101)
	p, r := opened(t)
	const jobs = 7
	for range jobs {
		run(t, fmt.Sprintf("pool %s 20 1", path))
	}
	rows := func() (n int) {
		var k uint32
		var v pagecacheWaitTimes
		it := p.probe.Map("waits").Iterate()
		for it.Next(&k, &v) {
			n++
		}
		return n
	}
	bpftest.Collect(t, p, sample.IntervalEnd, r)
	w := r.NextWindow(time.Now())
	told := 0
	w.Each(sample.WaitWorst, func(e sample.Entity, _ *sample.Series) {
		if strings.HasPrefix(filepath.Base(os.Args[0]), w.Processes[e.PID].Comm) {
			told++
		}
	})
	if told < jobs {
		t.Errorf("%d processes are told of, want %d", told, jobs)
	}
	before := rows()
	bpftest.Collect(t, p, sample.Last, r)
	if after := rows(); after > before-jobs {
		t.Errorf("%d rows after the next window, %d before: those of %d that ended are still there", after, before, jobs)
	}
}
