package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run carries a load out until it is done or ctx ends, which is not an error.
// started, if not nil, is called when the preparations are over and the calls
// begin (for eat: when the memory has been taken).
func Run(ctx context.Context, spec Spec, started func()) (*Result, error) {
	k, err := spec.prepare()
	if err != nil {
		return nil, err
	}
	if started == nil {
		started = func() {}
	}
	if err := nameProcess(&spec); err != nil {
		return nil, err
	}
	if k.name == "eat" {
		if spec.Delay > 0 {
			started = delay(ctx, spec.Delay, started)
		}
		return eat(ctx, &spec, started)
	}
	t, err := openTarget(&spec, k)
	if err != nil {
		return nil, err
	}
	defer t.close()
	workers, err := t.workers()
	if err != nil {
		return nil, err
	}
	// A thread in a page fault keeps its processor of the Go scheduler, and one
	// that comes back from a system call waits for one: without one for each,
	// the threads would wait for one another, and that would count as latency.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(spec.Threads + 2))
	if spec.Delay > 0 {
		started = delay(ctx, spec.Delay, started)
	}
	seconds, windows, err := together(ctx, &spec, workers, started)
	r := t.result(workers)
	r.Seconds = seconds
	if windows != nil {
		r.Series = windows.series(seconds)
	}
	return r, err
}

// delay says that the load has started and waits. What it gives is to be called
// when the load starts indeed.
func delay(ctx context.Context, d time.Duration, started func()) func() {
	started()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return func() {}
}

// together runs all workers to their end and says how long that took, and
// what they did when if that was asked for.
func together(ctx context.Context, spec *Spec, workers []*worker, started func()) (float64, *windows, error) {
	var stop atomic.Bool
	end := context.AfterFunc(ctx, func() { stop.Store(true) })
	defer end()
	if spec.Duration > 0 {
		timer := time.AfterFunc(spec.Duration, func() { stop.Store(true) })
		defer timer.Stop()
	}
	var wait sync.WaitGroup
	errs := make([]error, len(workers))
	start := time.Now()
	var all *windows
	if spec.Window > 0 {
		all = newWindows(start, spec.Window, len(workers))
		for i, w := range workers {
			w.window = all.thread(i)
		}
	}
	if spec.Tell > 0 {
		var done atomic.Int64
		for _, w := range workers {
			w.told = &done
		}
		ended := make(chan struct{})
		var teller sync.WaitGroup
		teller.Go(func() { tell(spec.Tell, &done, ended) })
		defer func() { close(ended); teller.Wait() }()
	}
	for i, w := range workers {
		count := spec.Count / int64(len(workers))
		if int64(i) < spec.Count%int64(len(workers)) {
			count++
		}
		if spec.Count > 0 && count == 0 {
			w.window.finish()
			continue
		}
		wait.Go(func() {
			defer w.window.finish()
			if errs[i] = w.run(newPace(spec, i, start, &stop), count); errs[i] != nil {
				stop.Store(true)
			}
		})
	}
	started()
	wait.Wait()
	return time.Since(start).Seconds(), all, errors.Join(errs...)
}

// tell writes what was done since the last line to a file descriptor until it is
// ended. Who listened may be gone, which is no concern of the load.
func tell(fd int, done *atomic.Int64, ended <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			_, _ = unix.Write(fd, fmt.Appendf(nil, "%d\n", done.Swap(0)))
		}
	}
}

// nameProcess makes the process known by spec's name and nice value, and sets how
// readily the kernel kills it.
func nameProcess(spec *Spec) error {
	if spec.Comm != "" {
		// The leader's name is the process's name; we may be on another thread.
		if err := os.WriteFile("/proc/self/comm", []byte(spec.Comm), 0); err != nil {
			return fmt.Errorf("name the process: %w", err)
		}
	}
	if spec.Nice != 0 { // the first thread's, which is not one of the load, is taken for the process's
		if err := unix.Setpriority(unix.PRIO_PROCESS, os.Getpid(), spec.Nice); err != nil {
			return fmt.Errorf("set the nice value of the process: %w", err)
		}
	}
	if spec.OOMScoreAdj != 0 {
		if err := os.WriteFile("/proc/self/oom_score_adj", fmt.Append(nil, spec.OOMScoreAdj), 0); err != nil {
			return fmt.Errorf("set oom_score_adj: %w", err)
		}
	}
	return nil
}

func setName(name *byte) error {
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
}
