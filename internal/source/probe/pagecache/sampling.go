package pagecache

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// cachedReads is the program at a tracepoint that is switched on and off; one at a
// function stays, and itself looks away.
const cachedReads = "on_get_pages"

// sampler looks every period how many reads there are, from begin to end, in
// a goroutine of its own.
type sampler struct {
	probe  *bpf.Probe
	sums   func() (pagecacheSums, error)
	settle func(mode uint32) error
	pace   pace // the goroutine's; tests set its bounds
	quit   chan struct{}
	done   sync.WaitGroup

	// the goroutine's, and between end and begin
	sampled bool
	slices  uint64 // begun

	mu     sync.Mutex
	rate   float64 // calls a second when sampling began, until it is told
	failed error   // since the last call of tell
}

// begin starts to look; everything is counted at first.
func (s *sampler) begin() error {
	s.end()
	if s.sampled {
		if err := s.all(); err != nil {
			return err
		}
	}
	sums, err := s.sums()
	if err != nil {
		return err
	}
	s.quit = make(chan struct{})
	s.done.Go(func() { s.run(sums, time.Now()) })
	return nil
}

// end leaves the program attached or not, as it is.
func (s *sampler) end() {
	if s.quit != nil {
		close(s.quit)
		s.done.Wait()
		s.quit = nil
	}
}

// tell emits, once, that reads are sampled, and returns what went wrong.
func (s *sampler) tell(into sample.Sink) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rate > 0 {
		into.PutGap(sample.Gap{Why: fmt.Sprintf(
			"reads of cached data, %.0f a second, were counted for %v of every %v and scaled by the kernel's count of each thread's read calls: counting all of them would have slowed them", s.rate, slice, period)})
		s.rate = 0
	}
	err := s.failed
	s.failed = nil
	return err
}

func (s *sampler) run(before pagecacheSums, since time.Time) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	s.pace.sampled = false
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
		}
		now, err := s.sums()
		length := time.Since(since)
		since = since.Add(length)
		if err == nil {
			err = s.step(activity{calls: float64(now.Calls - before.Calls), accesses: float64(now.Accesses - before.Accesses),
				inserted: float64(now.Inserted-before.Inserted) - float64(now.WriteAlloc-before.WriteAlloc), length: length})
			before = now
		}
		if err != nil {
			s.mu.Lock()
			s.failed = errors.Join(s.failed, err)
			s.mu.Unlock()
		}
	}
}

// step has the next period counted as its pace wants.
func (s *sampler) step(last activity) error {
	if !s.pace.next(last) {
		if s.sampled {
			return s.all()
		}
		return nil
	}
	if !s.sampled {
		if err := s.start(); err != nil {
			return err
		}
		s.mu.Lock()
		s.rate = last.calls / last.length.Seconds()
		s.mu.Unlock()
	}
	return s.slice(uint64(max(2, math.Round(float64(last.length)/float64(slice)))))
}

// start has the programs note where the kernel's counts of read calls stand.
func (s *sampler) start() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return fmt.Errorf("reading the time since boot: %w", err)
	}
	return errors.Join(s.probe.SetVariable("sampled_since", uint64(now.Nano())),
		s.probe.SetVariable("sampled_from", s.slices+1), s.settle(settleSampled))
}

// slice counts for a slice and detaches the program; weight is the length of a
// period in slices. The kernel program itself ends the slice: this may come
// late.
func (s *sampler) slice(weight uint64) error {
	s.slices++
	err := errors.Join(s.probe.SetVariable("slice_ns", uint64(slice)), s.probe.SetVariable("slice_number", s.slices+1),
		s.probe.SetVariable("slice_until", uint64(0)), s.probe.SetVariable("weight", weight))
	if s.sampled && err == nil {
		err = s.probe.Attach(cachedReads)
	}
	s.sampled = true
	select {
	case <-s.quit:
	case <-time.After(slice + slice/10):
	}
	return errors.Join(err, s.probe.Detach(cachedReads))
}

// all counts every read again, and those since the last slice by the kernel's
// count.
func (s *sampler) all() error {
	s.sampled = false
	return errors.Join(s.probe.SetVariable("weight", uint64(1)), s.probe.Attach(cachedReads), s.settle(settleExact))
}
