// Package queue reads the settings of the disks' request queues below
// /sys/block. The parser is the host's, whose fingerprint holds the same
// settings.
package queue

import (
	"errors"
	"fmt"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

type source struct{ host *host.Host }

// Open opens the source. It fails when the block devices cannot be listed.
func Open(h *host.Host) (sample.Source, error) {
	if _, err := h.Devices(); err != nil {
		return nil, err
	}
	return &source{h}, nil
}

// Collect implements sample.Source: the settings are read at the start, of
// every disk that has a size, and what lies on what where a window ends.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First && !phase.Closes() {
		return nil
	}
	devices, err := s.host.Devices()
	if err != nil {
		return err
	}
	if phase.Closes() {
		return s.layers(devices, into)
	}
	return s.settings(devices, into)
}

func (s *source) settings(devices *host.Devices, into sample.Sink) error {
	var errs []error
	for _, d := range devices.Disks() {
		if d.Bytes == 0 || strings.HasPrefix(d.Name, "ram") {
			continue
		}
		q, err := s.host.Queue(d.Name)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading the queue of %s: %w", d.Name, err))
		}
		e := sample.Entity{Device: d.Name}
		from := "/sys/block/" + d.Name + "/queue/"
		if q.ReadAheadBytes != nil {
			into.Put(sample.DeviceReadAhead, e, float64(*q.ReadAheadBytes), from+"read_ahead_kb")
		}
		if q.Rotational != nil {
			v := 0.0
			if *q.Rotational {
				v = 1
			}
			into.Put(sample.DeviceRotate, e, v, from+"rotational")
		}
		if q.NrRequests != nil {
			into.Put(sample.DeviceRequests, e, float64(*q.NrRequests), from+"nr_requests")
		}
	}
	return errors.Join(errs...)
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
