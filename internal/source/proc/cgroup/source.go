// Package cgroup reads the memory and block I/O figures and limits of the
// cgroups, of version 1 (Documentation/admin-guide/cgroup-v1) and version 2
// (Documentation/admin-guide/cgroup-v2.rst). The controllers may be in
// different hierarchies, and then a process has two paths.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"iocause/internal/host"
	"iocause/internal/sample"
)

type key struct {
	metric sample.Metric
	entity sample.Entity
}

type source struct {
	host       *host.Host
	memory, io host.Hierarchy
	devices    *host.Devices
	asked      bool // the devices were read again in this pass
	buf        []byte
	counters   host.Counters[key]
	wasMore    map[bool]bool // by "is the I/O hierarchy": more cgroups than were read at the start
	lacks      []sample.Gap  // told once, at the start
	errs       []error       // of this pass
	hasMemory  bool
	hasIO      bool
}

func memoryMetrics() []sample.Metric {
	return []sample.Metric{
		sample.CgroupMemUsage, sample.CgroupMemLimit, sample.CgroupMemFile, sample.CgroupMemAnon, sample.CgroupMemShmem,
		sample.CgroupRefault, sample.CgroupRefaultAn, sample.CgroupLimitHits,
	}
}

func ioMetrics() []sample.Metric {
	return []sample.Metric{
		sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites, sample.CgroupIOLimit,
	}
}

// Open opens the source. It fails when neither the memory nor the block I/O
// controller is in a mounted hierarchy.
func Open(h *host.Host) (sample.Source, error) {
	c, err := h.Cgroups()
	if err != nil {
		return nil, err
	}
	s := &source{host: h, wasMore: map[bool]bool{}}
	s.memory, s.hasMemory = c.Controller("memory")
	if s.io, s.hasIO = c.Controller("blkio"); !s.hasIO {
		s.io, s.hasIO = c.Controller("io")
	}
	const help = "mount a hierarchy with it, or enable it at boot"
	switch {
	case !s.hasMemory && !s.hasIO:
		return nil, fmt.Errorf("cgroup controllers memory and io: %w: %s", host.ErrNoController, help)
	case !s.hasMemory:
		s.lacks = append(s.lacks, sample.Gap{Why: fmt.Sprintf("cgroup controller memory: %v: %s", host.ErrNoController, help), Metrics: memoryMetrics()})
	case !s.hasIO:
		s.lacks = append(s.lacks, sample.Gap{Why: fmt.Sprintf("cgroup controller io (blkio): %v: %s", host.ErrNoController, help), Metrics: ioMetrics()})
	}
	s.devices, _ = h.Devices()
	return s, nil
}

// Collect implements sample.Source. Ticks read nothing: hundreds of files
// would cost more than the figures between the ends are worth.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.Tick {
		return nil
	}
	s.errs, s.asked = nil, false
	if phase == sample.First {
		s.counters.Reset()
		for _, g := range s.lacks {
			into.PutGap(g)
		}
	}
	if s.hasMemory {
		if groups := s.groups(false, phase, into); groups != nil {
			for _, g := range groups {
				s.collectMemory(g, phase, into)
			}
		}
	}
	if s.hasIO {
		if groups := s.groups(true, phase, into); groups != nil {
			s.collectIO(groups, phase, into)
		}
	}
	if len(s.errs) > 8 {
		s.errs = append(s.errs[:8], fmt.Errorf("and %d more", len(s.errs)-8))
	}
	return errors.Join(s.errs...)
}

// groups lists the cgroups of the memory or the I/O hierarchy.
func (s *source) groups(io bool, phase sample.Phase, into sample.Sink) []group {
	t, what, metrics := s.memory, "memory", memoryMetrics
	if io {
		t, what, metrics = s.io, "I/O", ioMetrics
	}
	groups, more, err := walk(t)
	if err != nil {
		s.errs = append(s.errs, err)
		return nil
	}
	if more {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("there are more than %d cgroups below %s: the %s of the others was not read", most, t.Dir, what),
			Metrics: metrics(),
		})
	}
	if phase == sample.First {
		s.wasMore[io] = more
	}
	return groups
}

// read reads a file of a cgroup. It is not ok when there is none: the top
// cgroup lacks most, and a cgroup may be removed at any time.
func (s *source) read(g group, name string) (b []byte, ok bool) {
	var err error
	s.buf, err = host.Read(g.dir+"/"+name, s.buf)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.EOPNOTSUPP) {
			s.errs = append(s.errs, err)
		}
		return nil, false
	}
	return s.buf, true
}

// fault keeps a parser's error and tells whether there was none.
func (s *source) fault(g group, name string, err error) bool {
	if err != nil {
		s.errs = append(s.errs, host.In(fmt.Sprintf("%q", g.dir+"/"+name), err))
	}
	return err == nil
}

// count emits the increase of a counter. A cgroup that came to be within the
// window counts from zero.
func (s *source) count(phase sample.Phase, into sample.Sink, io bool, m sample.Metric, e sample.Entity, now uint64, from string) {
	rise, rose := s.rise(phase, into, io, m, e, now, from)
	if rose {
		into.Put(m, e, float64(rise), from)
	}
}

func (s *source) rise(phase sample.Phase, into sample.Sink, io bool, m sample.Metric, e sample.Entity, now uint64, from string) (uint64, bool) {
	k := key{m, e}
	if phase != sample.First && !s.wasMore[io] {
		s.counters.New(k)
	}
	rise, how := s.counters.Step(k, now)
	if how == host.Fell {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("%s of cgroup %q: %s fell, so it was reset and part of its increase is lost", from, e.Cgroup, m),
			Metrics: []sample.Metric{m},
		})
	}
	return rise, how == host.Rose
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
