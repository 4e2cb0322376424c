// Package sysctl reads the settings of /proc/sys/vm that decide how memory is
// cached, written back and reclaimed. The parser is the host's, whose
// fingerprint holds the same settings.
package sysctl

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/sample"
)

type source struct{ host *host.Host }

// Open opens the source. It fails when there is none of the settings.
func Open(h *host.Host) (sample.Source, error) {
	values, err := h.VMSysctls()
	if len(values) == 0 {
		if err == nil {
			err = fmt.Errorf("%s has none of the settings", h.Proc("sys", "vm"))
		}
		return nil, fmt.Errorf("reading the memory settings: %w", err)
	}
	return &source{h}, nil
}

// Collect implements sample.Source: the settings are read at the start. One
// that the kernel lacks is not emitted.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First {
		return nil
	}
	values, err := s.host.VMSysctls()
	for name, v := range values {
		into.Put(sample.Sysctl, sample.Entity{Class: name}, float64(v), "/proc/sys/vm/"+name)
	}
	if err != nil {
		return fmt.Errorf("reading the memory settings: %w", err)
	}
	return nil
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
