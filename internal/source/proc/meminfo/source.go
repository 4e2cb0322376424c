// Package meminfo reads /proc/meminfo: what the memory is used for.
package meminfo

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const file = "/proc/meminfo"

type source struct {
	path string
	buf  []byte
}

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{path: h.Proc("meminfo")}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) read() (procfile.Meminfo, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return procfile.Meminfo{}, fmt.Errorf("reading the use of memory: %w", err)
	}
	m, err := procfile.ParseMeminfo(s.buf)
	return m, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	m, err := s.read()
	if err != nil {
		return err
	}
	var absent []sample.Metric
	for _, g := range m.Gauges() {
		if g.Value == nil {
			absent = append(absent, g.Metric)
			continue
		}
		into.Put(g.Metric, sample.Entity{}, float64(*g.Value), file)
	}
	if len(absent) > 0 && phase == sample.First {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("this kernel's %s lacks %v", file, absent), Metrics: absent})
	}
	return nil
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
