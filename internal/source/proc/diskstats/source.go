// Package diskstats reads /proc/diskstats: what every disk did.
package diskstats

import (
	"bytes"
	"fmt"
	"strings"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const file = "/proc/diskstats"

type key struct {
	metric sample.Metric
	device string
}

type source struct {
	host     *host.Host
	path     string
	buf      []byte
	disks    []procfile.Disk
	devices  *host.Devices
	unknown  map[string]bool // neither disk nor partition when last looked up
	counters host.Counters[key]
	begun    bool              // the start values were read
	here     map[string]bool   // at the last reading
	serial   map[string]uint64 // of the disks that were seen, 0 where the kernel has none
}

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{host: h, path: h.Proc("diskstats"), unknown: map[string]bool{}, here: map[string]bool{}, serial: map[string]uint64{}}
	if err := s.read(); err != nil {
		return nil, err
	}
	s.devices, _ = h.Devices() // without /sys the names decide
	return s, nil
}

func (s *source) read() error {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return fmt.Errorf("reading the disks' figures: %w", err)
	}
	s.disks, err = procfile.ParseDiskstats(s.buf, s.disks)
	return host.In(file, err)
}

// Collect implements sample.Source. A disk that is plugged in during the
// window counts from zero, as its figures do, and so does one that was taken
// away when another comes by its name. Where the start values could not be
// read, the next ones are the start: compared with nothing, they would be all
// that was counted since the boot.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.First {
		s.begun = false
	}
	if err := s.read(); err != nil {
		return err
	}
	if !s.begun {
		phase = sample.First
		s.counters.Reset()
		clear(s.unknown)
		clear(s.here)
		s.begun = true
	}
	here := make(map[string]bool, len(s.disks))
	for i := range s.disks {
		if d := &s.disks[i]; s.whole(d) {
			here[d.Name] = true
			if !s.here[d.Name] && s.another(d.Name) {
				s.forget(d.Name)
			}
			s.emit(d, phase, into)
		}
	}
	s.here = here
	return nil
}

// another tells whether a disk that has come is not the one that bore its name
// before: the kernel numbers disks as they come (since 5.15).
func (s *source) another(name string) bool {
	before, seen := s.serial[name]
	s.serial[name] = 0
	if b, err := host.Read(s.host.Sys("block", name, "diskseq"), nil); err == nil {
		s.serial[name], _ = host.Uint(bytes.TrimSpace(b))
	}
	return seen && s.serial[name] != before
}

// forget forgets what was counted of a disk.
func (s *source) forget(name string) {
	for _, m := range []sample.Metric{sample.DiskReads, sample.DiskWrites, sample.DiskReadBytes, sample.DiskWriteBytes,
		sample.DiskReadTime, sample.DiskWriteTime, sample.DiskBusy, sample.DiskWeighted, sample.DiskFlushes} {
		s.counters.Forget(key{m, name})
	}
}

func (s *source) emit(d *procfile.Disk, phase sample.Phase, into sample.Sink) {
	silent := d.Idle() && spare(d.Name)
	e := sample.Entity{Device: d.Name}
	count := func(m sample.Metric, now uint64, unit float64, step func(key, uint64) (uint64, host.Step)) {
		k := key{m, d.Name}
		if phase != sample.First {
			s.counters.New(k)
		}
		rise, how := step(k, now)
		if how == host.Fell && !s.here[d.Name] {
			rise, how = now, host.Rose // another disk
		}
		switch {
		case silent:
		case how == host.Rose:
			into.Put(m, e, float64(rise)*unit, file)
		case how == host.Fell:
			into.PutGap(sample.Gap{
				Why:     fmt.Sprintf("%s: %s of %q fell, so it was reset and part of its increase is lost", file, m, d.Name),
				Metrics: []sample.Metric{m},
			})
		}
	}
	for _, c := range d.Counters() {
		step := s.counters.Step
		if c.Wraps {
			step = s.counters.Step32
		}
		count(c.Metric, c.Value, c.Unit, step)
	}
	if d.HasFlushes() {
		count(sample.DiskFlushes, d.Flushes, 1, s.counters.Step)
	} else if phase == sample.First {
		into.PutGap(sample.Gap{
			Why:     file + " counts no flush requests: kernels since 5.5 do",
			Metrics: []sample.Metric{sample.DiskFlushes},
		})
	}
	if !silent {
		into.Put(sample.DiskInFlight, e, float64(d.InFlight), file)
	}
}

// spare are devices that stand by, often in numbers, without being used.
func spare(name string) bool {
	for _, p := range [...]string{"loop", "zram", "nbd", "sr", "fd"} {
		if rest, ok := strings.CutPrefix(name, p); ok && digits(rest) {
			return true
		}
	}
	return false
}

// whole tells disks, which are measured, from partitions and memory disks.
func (s *source) whole(d *procfile.Disk) bool {
	if rest, ok := strings.CutPrefix(d.Name, "ram"); ok && digits(rest) {
		return false
	}
	if x, ok := s.devices.Lookup(d.Dev); ok && x.Name == d.Name {
		return x.Whole()
	}
	if !s.unknown[d.Name] {
		s.unknown[d.Name] = true
		if fresh, err := s.host.Devices(); err == nil {
			s.devices = fresh
			if x, ok := fresh.Lookup(d.Dev); ok && x.Name == d.Name {
				delete(s.unknown, d.Name)
				return x.Whole()
			}
		}
	}
	if len(s.devices.All()) > 0 {
		return false // a hidden path of a multipath disk
	}
	for i := range s.disks {
		if procfile.PartitionOf(d.Name, s.disks[i].Name) {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	_, ok := host.Uint([]byte(s))
	return ok
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
