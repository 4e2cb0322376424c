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
		s.put(d.Name, &q, into)
		s.misaligned(devices, d.Name, &q, into)
	}
	return errors.Join(errs...)
}

// put emits what is known of a queue.
func (s *source) put(disk string, q *host.Queue, into sample.Sink) {
	e := sample.Entity{Device: disk}
	from := "/sys/block/" + disk + "/queue/"
	number := func(m sample.Metric, file string, n *uint64, unit float64) {
		if n != nil {
			into.Put(m, e, float64(*n)*unit, from+file)
		}
	}
	is := func(m sample.Metric, file string, known, yes bool) {
		v := 0.0
		if yes {
			v = 1
		}
		if known {
			into.Put(m, e, v, from+file)
		}
	}
	word := func(m sample.Metric, file, text string) {
		if text != "" {
			into.Put(m, sample.Entity{Device: disk, Class: text}, 1, from+file)
		}
	}
	number(sample.DeviceReadAhead, "read_ahead_kb", q.ReadAheadBytes, 1)
	number(sample.DeviceRequests, "nr_requests", q.NrRequests, 1)
	number(sample.DeviceWBT, "wbt_lat_usec", q.WBTLatUsec, 1e-6)
	number(sample.DeviceDiscardMax, "discard_max_bytes", q.DiscardBytes, 1)
	number(sample.DevicePhysical, "physical_block_size", q.PhysicalBytes, 1)
	is(sample.DeviceRotate, "rotational", q.Rotational != nil, q.Rotational != nil && *q.Rotational)
	is(sample.DeviceFUA, "fua", q.FUA != nil, q.FUA != nil && *q.FUA)
	is(sample.DeviceWriteCache, "write_cache", q.WriteCache != "", q.WriteCache == "write back")
	word(sample.DeviceScheduler, "scheduler", q.Scheduler)
	word(sample.DeviceZoned, "zoned", q.Zoned)
}

// misaligned emits by how much each partition begins off a physical sector, as its
// disk reports it.
func (s *source) misaligned(devices *host.Devices, disk string, q *host.Queue, into sample.Sink) {
	if q.PhysicalBytes == nil || *q.PhysicalBytes == 0 {
		return
	}
	for _, d := range devices.Partitions(disk) {
		path := s.host.Sys("block", disk, d.Name, "start")
		if start, err := host.ReadNumber(path); err == nil { // gone meanwhile, else
			into.Put(sample.DeviceMisaligned, sample.Entity{Device: disk, Class: d.Name}, float64(start*512%*q.PhysicalBytes), "/sys/block/"+disk+"/"+d.Name+"/start")
		}
	}
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
