// Package vmstat reads /proc/vmstat: paging, swapping, reclaim, refaults and
// the limits of dirty memory.
package vmstat

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const file = "/proc/vmstat"

type source struct {
	path     string
	page     float64 // bytes
	buf      []byte
	counters host.Counters[sample.Metric]
}

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{path: h.Proc("vmstat"), page: float64(h.PageSize())}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) read() (procfile.Vmstat, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return procfile.Vmstat{}, fmt.Errorf("reading the memory's events: %w", err)
	}
	v, err := procfile.ParseVmstat(s.buf)
	return v, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	v, err := s.read()
	if err != nil {
		return err
	}
	if phase == sample.First {
		s.counters.Reset()
	}
	var absent []sample.Metric
	for _, c := range v.Counters(s.page) {
		if c.Value == nil {
			absent = append(absent, c.Metric)
			continue
		}
		rise, how := s.counters.Step(c.Metric, *c.Value)
		switch how {
		case host.Rose:
			into.Put(c.Metric, sample.Entity{}, float64(rise)*c.Unit, file)
		case host.Fell:
			into.PutGap(sample.Gap{
				Why:     fmt.Sprintf("%s: %s fell, so it was reset and part of its increase is lost", file, c.Metric),
				Metrics: []sample.Metric{c.Metric},
			})
		}
	}
	for _, g := range v.Thresholds() {
		if g.Value == nil {
			absent = append(absent, g.Metric)
			continue
		}
		into.Put(g.Metric, sample.Entity{}, float64(*g.Value)*s.page, file)
	}
	if len(absent) > 0 && phase == sample.First {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("this kernel's %s lacks %v", file, absent), Metrics: absent})
	}
	return nil
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
