package pagecache

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// Reading cached data makes the most events by far, and says the least: on
// some machines the way to any kernel program takes 100 ns of a read that
// takes 1,000. So where there are very many such reads and hardly any that
// miss, they are counted in one slice of each period and scaled. What enters
// and leaves the cache is always counted one by one.
const (
	sampleAbove = 200_000 // read calls a second; below half of it all are counted again
	sampleMiss  = 0.01    // pages inserted for one visited, at most
	period      = 200 * time.Millisecond
	slice       = period / 10
)

// cachedReads is the program that is switched on and off.
const cachedReads = "on_get_pages"

// sampler looks every period how many reads there are, from begin to end, in
// a goroutine of its own.
type sampler struct {
	probe *bpf.Probe
	sums  func() (pagecacheSums, error)
	above float64 // sampleAbove, but for tests
	quit  chan struct{}
	done  sync.WaitGroup

	sampled bool // the goroutine's, and between end and begin
	mu      sync.Mutex
	rate    float64 // calls a second when sampling began, until it is told
	failed  error   // since the last call of tell
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
			"reads of cached data, %.0f a second, were counted for %v of every %v and scaled: counting all of them would have slowed them", s.rate, slice, period)})
		s.rate = 0
	}
	err := s.failed
	s.failed = nil
	return err
}

func (s *sampler) run(before pagecacheSums, since time.Time) {
	tick := time.NewTicker(period)
	defer tick.Stop()
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
			err = s.step(&before, &now, length)
			before = now
		}
		if err != nil {
			s.mu.Lock()
			s.failed = errors.Join(s.failed, err)
			s.mu.Unlock()
		}
	}
}

// step decides from the last period, which took length, how the next one is
// counted.
func (s *sampler) step(a, b *pagecacheSums, length time.Duration) error {
	calls, visits := float64(b.Calls-a.Calls)/length.Seconds(), float64(b.Visits-a.Visits)
	inserted := float64(b.Inserted-a.Inserted) - float64(b.WriteAlloc-a.WriteAlloc)
	bound := s.above
	if s.sampled {
		bound /= 2
	}
	if calls < bound || inserted > sampleMiss*visits {
		if s.sampled {
			return s.all()
		}
		return nil
	}
	if !s.sampled {
		s.mu.Lock()
		s.rate = calls
		s.mu.Unlock()
	}
	return s.slice(uint64(math.Round(float64(length) / float64(slice))))
}

// slice counts for a slice, each read as often as weight says, and detaches
// the program. The kernel program itself ends the slice: this may come late.
func (s *sampler) slice(weight uint64) error {
	err := errors.Join(s.probe.SetVariable("slice_ns", uint64(slice)),
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

// all counts every read again.
func (s *sampler) all() error {
	s.sampled = false
	return errors.Join(s.probe.SetVariable("weight", uint64(1)), s.probe.Attach(cachedReads))
}
