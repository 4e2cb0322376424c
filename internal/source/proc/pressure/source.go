// Package pressure reads /proc/pressure: the time in which work stood still
// for want of a processor, memory or I/O.
package pressure

import (
	"errors"
	"fmt"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// ErrNoPSI is a kernel that does not account pressure.
var ErrNoPSI = errors.New("the kernel was built without CONFIG_PSI or does not account pressure: boot it with psi=1")

var resources = [...]string{sample.ClassCPU, sample.ClassIO, sample.ClassMemory}

type key struct {
	metric sample.Metric
	class  string
}

type source struct {
	dir      string
	open     []string // resources that can be read
	buf      []byte
	counters host.Counters[key]
	lacks    error // why a resource cannot be read
}

// Open opens the source. It fails when no resource can be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{dir: h.Proc("pressure")}
	for _, r := range resources {
		if _, err := s.read(r); err != nil {
			s.lacks = err
			continue
		}
		s.open = append(s.open, r)
	}
	if len(s.open) == 0 {
		return nil, fmt.Errorf("%w: %w", s.lacks, ErrNoPSI)
	}
	return s, nil
}

func (s *source) read(resource string) (procfile.Pressure, error) {
	var err error
	if s.buf, err = host.Read(s.dir+"/"+resource, s.buf); err != nil {
		return procfile.Pressure{}, fmt.Errorf("reading the pressure: %w", err)
	}
	p, err := procfile.ParsePressure(s.buf)
	return p, host.In("/proc/pressure/"+resource, err)
}

// Collect implements sample.Source. A resource that cannot be read does not
// keep the others from being read.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.First {
		s.counters.Reset()
		if s.lacks != nil {
			into.PutGap(sample.Gap{Why: s.lacks.Error(), Metrics: []sample.Metric{sample.PSISome, sample.PSIFull}})
		}
	}
	var errs []error
	for _, r := range s.open {
		p, err := s.read(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.count(into, sample.PSISome, r, p.Some)
		s.count(into, sample.PSIFull, r, p.Full)
	}
	return errors.Join(errs...)
}

func (s *source) count(into sample.Sink, m sample.Metric, resource string, us *uint64) {
	if us == nil {
		return
	}
	file := "/proc/pressure/" + resource
	rise, how := s.counters.Step(key{m, resource}, *us)
	switch how {
	case host.Rose:
		into.Put(m, sample.Entity{Class: resource}, float64(rise)/1e6, file)
	case host.Fell:
		into.PutGap(sample.Gap{Why: fmt.Sprintf("%s: %s fell, so it was reset and part of its increase is lost", file, m), Metrics: []sample.Metric{m}})
	}
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
