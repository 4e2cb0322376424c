package load

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// worker is one thread of a load. Its fields belong to its goroutine until
// the load has ended.
type worker struct {
	id       int
	spec     *Spec
	kind     *kind
	size     int64
	fd, out  int // -1 when not open
	pipe     [2]int
	buf, mem []byte
	turn     *mutex // of all threads of the load
	sink     byte   // keeps reads of memory from being optimised away

	offsets *offsets
	reads   account
	writes  account
	lat     sample.Times
	bytes   int64
	wrote   bool          // mixed: the call that was made last
	sides   *[2]direction // mixed: calls that read, and that wrote; else nil
	errors  int64         // EIO, with Keep
	usage   [2]unix.Rusage
	window  *threadWindow // nil without Window
	told    *atomic.Int64 // nil without Tell
}

// direction is what the calls of one direction did.
type direction struct {
	lat   sample.Times
	bytes int64
}

// latencies counts latencies, of a percentile at most 1.6 % off.
func latencies() sample.Times {
	t := sample.Times{Scale: sample.Scale{Bits: 6, Powers: 46}}
	t.Count(t.Scale.Slots()-1, 0) // room for all: to make it later would take its time among the calls
	return t
}

// pace says when a thread may make its next call.
type pace struct {
	spec     *Spec
	id       int
	start    time.Time
	stop     *atomic.Bool
	interval time.Duration // between calls of one thread; 0: none
	next     time.Time
	burst    int64 // calls of one thread that come together
	left     int64 // of these, still to come
}

func newPace(spec *Spec, id int, start time.Time, stop *atomic.Bool) *pace {
	p := &pace{spec: spec, id: id, start: start, stop: stop}
	if spec.Rate > 0 {
		p.interval = time.Duration(float64(spec.Threads) / spec.Rate * 1e9)
		p.next = start.Add(p.interval * time.Duration(id) / time.Duration(spec.Threads))
		if spec.Burst > 0 {
			p.burst, p.next = spec.Burst/int64(spec.Threads), start
			p.interval *= time.Duration(p.burst)
		}
	}
	return p
}

// wait returns false when the load is to stop.
func (p *pace) wait() bool {
	if p.spec.Ramp > 0 {
		for !p.stop.Load() && p.id >= p.threads(time.Now()) {
			time.Sleep(5 * time.Millisecond)
		}
	}
	if p.left > 0 {
		p.left--
		return !p.stop.Load()
	}
	if p.interval > 0 {
		now := time.Now()
		// A thread that was held up catches up on a tenth of a second, no
		// more: a burst after a stall is another load.
		if late := now.Add(-100 * time.Millisecond); p.next.Before(late) {
			p.next = late
		}
		p.sleepUntil(p.next)
		p.next = p.next.Add(p.interval)
		p.left = max(p.burst-1, 0)
	}
	return !p.stop.Load()
}

// threads is how many threads a ramp lets run: up, down, up, ...
func (p *pace) threads(now time.Time) int {
	low, high := p.spec.ThreadsFrom, p.spec.Threads
	phase := float64(now.Sub(p.start)%(2*p.spec.Ramp)) / float64(p.spec.Ramp)
	if phase > 1 {
		phase = 2 - phase
	}
	return low + int(phase*float64(high-low)+0.5)
}

// sleepUntil sleeps in slices, so that a stop is seen soon.
func (p *pace) sleepUntil(t time.Time) {
	for !p.stop.Load() {
		d := time.Until(t)
		if d <= 0 {
			return
		}
		time.Sleep(min(d, 50*time.Millisecond))
	}
}

// run makes this thread's calls, count of them at most when count is not 0.
func (w *worker) run(p *pace, count int64) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := nameThread(w.spec.Comm); err != nil {
		return err
	}
	if w.spec.Nice != 0 { // in Linux, of the thread
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, w.spec.Nice); err != nil {
			return fmt.Errorf("set the nice value of a thread: %w", err)
		}
	}
	if w.spec.Idle {
		if err := unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0); err != nil {
			return fmt.Errorf("set the scheduling policy of a thread: %w", err)
		}
	}
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &w.usage[0]); err != nil {
		return fmt.Errorf("read the processor time of a thread: %w", err)
	}
	calls := w.runCalls
	switch {
	case w.kind.ring:
		calls = w.runRing
	case w.kind.permit:
		calls = w.runPermit
	}
	if err := calls(p, count); err != nil {
		return err
	}
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &w.usage[1]); err != nil {
		return fmt.Errorf("read the processor time of a thread: %w", err)
	}
	return nil
}

// runCalls makes them one after the other.
func (w *worker) runCalls(p *pace, count int64) error {
	for made := int64(0); (count == 0 || made < count) && p.wait(); made++ {
		off, length, ok := w.offsets.next()
		if !ok {
			break
		}
		before := time.Since(p.start) // one clock is read, where time.Now reads two
		n, err := w.kind.step(w, off, length)
		if w.spec.Keep && errors.Is(err, unix.EIO) {
			w.errors++
			n, err = 0, nil
		}
		if err != nil {
			return fmt.Errorf("%s at byte %d: %w", w.spec.Kind, off, err)
		}
		after := time.Since(p.start)
		w.made(off, n, after, after-before, w.kind.write && (!w.kind.mixed || w.wrote))
		if w.spec.Think > 0 {
			p.sleepUntil(time.Now().Add(w.spec.Think))
		}
	}
	return nil
}

// made enters one call of n bytes, that ended so long after the start, into the
// account.
func (w *worker) made(off, n int64, now, took time.Duration, wrote bool) {
	w.lat.Add(took)
	w.window.add(now, took, n)
	w.bytes += n
	if w.told != nil {
		w.told.Add(max(n, 1))
	}
	if w.sides != nil {
		side := &w.sides[0]
		if wrote {
			side = &w.sides[1]
		}
		side.lat.Add(took)
		side.bytes += n
	}
	if n == 0 {
		return
	}
	if wrote && w.kind.name != "mmap-write" {
		w.writes.add(off, n)
	}
	if !wrote || w.kind.mapped || w.kind.name == "rmw" {
		w.reads.add(off, n)
	}
}

// writeCalls is how many of the calls wrote.
func (w *worker) writeCalls() int64 {
	if w.sides != nil {
		return int64(w.sides[1].lat.N())
	}
	return int64(w.lat.N())
}

// nameThread sets the name of the calling thread, if there is one to set.
func nameThread(name string) error {
	if name == "" {
		return nil
	}
	b, err := unix.BytePtrFromString(name)
	if err != nil {
		return fmt.Errorf("thread name %q: %w", name, err)
	}
	if err := setName(b); err != nil {
		return fmt.Errorf("name a thread %q: %w", name, err)
	}
	return nil
}
