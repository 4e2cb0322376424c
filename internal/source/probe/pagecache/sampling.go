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
// miss, they are counted in a slice of each second and scaled. What enters and
// leaves the cache is always counted one by one.
const (
	sampleAbove = 200_000                // read calls a second
	exactBelow  = 100_000                // ... as estimated, to count all again
	sampleMiss  = 0.01                   // pages inserted for one visited, at most
	slice       = 100 * time.Millisecond // counted, of every interval between phases
)

// sampler switches the program of cached reads on and off. Its methods are
// called from one goroutine; a timer ends the slices.
type sampler struct {
	probe   *bpf.Probe
	before  time.Time
	sampled bool // now
	told    bool

	mu     sync.Mutex
	timer  *time.Timer
	failed error // of the timer's work
}

// begin starts a window: everything is counted.
func (s *sampler) begin(now time.Time) error {
	s.before, s.told = now, false
	if s.sampled {
		return s.all()
	}
	return nil
}

// next decides how reads are counted until the next phase, from the increase
// since the one before, and begins a slice.
func (s *sampler) next(now time.Time, a, b *pagecacheSums, into sample.Sink) error {
	length := now.Sub(s.before)
	s.before = now
	calls, visits := float64(b.Calls-a.Calls)/length.Seconds(), float64(b.Visits-a.Visits)
	inserted := float64(b.Inserted-a.Inserted) - float64(b.WriteAlloc-a.WriteAlloc)
	bound := float64(sampleAbove)
	if s.sampled {
		bound = exactBelow
	}
	if length < 5*slice || calls < bound || inserted > sampleMiss*visits {
		if !s.sampled {
			return nil
		}
		return s.all()
	}
	if !s.told {
		s.told = true
		into.PutGap(sample.Gap{Why: fmt.Sprintf(
			"reads of cached data, %.0f a second, were counted for %v of every second and scaled: counting all would have slowed them", calls, slice)})
	}
	return s.slice(uint64(math.Round(float64(length) / float64(slice))))
}

// slice counts for a slice from now on, each read as often as weight says.
func (s *sampler) slice(weight uint64) error {
	if err := s.end(); err != nil {
		return err
	}
	err := errors.Join(s.probe.SetVariable("weight", weight),
		s.probe.SetVariable("slice_ns", uint64(slice)), s.probe.SetVariable("slice_until", uint64(0)))
	if !s.sampled {
		s.sampled = true // still attached
	} else if err == nil {
		err = s.probe.Attach(program)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(slice+slice/10, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = errors.Join(s.failed, s.probe.Detach(program))
	})
	return err
}

const program = "on_get_pages"

// end waits for the end of a slice and says what went wrong in it.
func (s *sampler) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	err := s.failed
	s.failed = nil
	if s.sampled {
		err = errors.Join(err, s.probe.Detach(program))
	}
	return err
}

// all counts every read again.
func (s *sampler) all() error {
	if err := s.end(); err != nil {
		return err
	}
	s.sampled = false
	return errors.Join(s.probe.SetVariable("weight", uint64(1)), s.probe.Attach(program))
}

// stop ends a slice that is under way.
func (s *sampler) stop() error {
	if !s.sampled {
		return nil
	}
	return s.end()
}
