// Package schedstat reads /proc/schedstat: how long threads waited for a
// processor although they could have run.
package schedstat

import (
	"errors"
	"fmt"
	"io/fs"

	"iocause/internal/host"
	"iocause/internal/sample"
)

const file = "/proc/schedstat"

type source struct {
	path     string
	buf      []byte
	delays   []Delay
	counters host.Counters[uint64]
}

// Open opens the source. It fails on kernels without CONFIG_SCHEDSTATS.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{path: h.Proc("schedstat")}
	if _, err := s.read(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("this kernel has no CONFIG_SCHEDSTATS: how long all threads together waited for a processor is not known: %w", err)
		}
		return nil, err
	}
	return s, nil
}

func (s *source) read() (Schedstat, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return Schedstat{}, fmt.Errorf("reading the waits for a processor: %w", err)
	}
	st, err := parse(s.buf, s.delays)
	s.delays = st.Delays
	return st, host.In(file, err)
}

// Collect implements sample.Source. The sum is over the processors whose
// counter rose; one that comes online later counts from its first reading.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	st, err := s.read()
	if err != nil {
		return err
	}
	if phase == sample.First {
		s.counters.Reset()
	}
	var sum uint64
	rose := false
	for _, d := range st.Delays {
		rise, how := s.counters.Step(d.CPU, d.Nanoseconds)
		switch how {
		case host.Rose:
			sum, rose = sum+rise, true
		case host.Fell:
			into.PutGap(sample.Gap{
				Why:     fmt.Sprintf("%s: the wait of processor %d fell, so it was reset and part of its increase is lost", file, d.CPU),
				Metrics: []sample.Metric{sample.CPURunDelay},
			})
		}
	}
	if rose {
		into.Put(sample.CPURunDelay, sample.Entity{}, float64(sum)/1e9, file)
	}
	return nil
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
