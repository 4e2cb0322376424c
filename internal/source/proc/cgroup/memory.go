package cgroup

import (
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// collectMemory reads one cgroup. Usage and limits are those of the cgroup and
// all below it, in either version; memory.stat is of the cgroup alone in
// version 1 and of all below it in version 2.
func (s *source) collectMemory(g group, phase sample.Phase, into sample.Sink) {
	e := sample.Entity{Cgroup: g.path}
	usage := "memory.usage_in_bytes"
	if s.trees[memory].V2 {
		usage = "memory.current"
	}
	if b, ok := s.read(g, usage); ok {
		if v, err := parseNumber(b); s.fault(g, usage, err) {
			into.Put(sample.CgroupMemUsage, e, float64(v), usage)
		}
	}
	s.collectMemoryStat(g, phase, into)
	if s.trees[memory].V2 {
		s.limitsV2(g, phase, into)
	} else {
		s.limitsV1(g, phase, into)
	}
}

func (s *source) collectMemoryStat(g group, phase sample.Phase, into sample.Sink) {
	const name = "memory.stat"
	b, ok := s.read(g, name)
	if !ok {
		return
	}
	m, _, err := procfile.ParseMemoryStat(b)
	if !s.fault(g, name, err) {
		return
	}
	e := sample.Entity{Cgroup: g.path}
	if m.File != nil && m.Shmem != nil {
		// The kernel sums these one after the other: shmem may be ahead.
		into.Put(sample.CgroupMemFile, e, float64(*m.File-min(*m.File, *m.Shmem)), name)
	}
	if m.Shmem != nil {
		into.Put(sample.CgroupMemShmem, e, float64(*m.Shmem), name)
	}
	if m.Anon != nil {
		into.Put(sample.CgroupMemAnon, e, float64(*m.Anon), name)
	}
	if m.RefaultFile != nil {
		s.count(g, phase, into, memory, sample.CgroupRefault, e, *m.RefaultFile, name)
	}
	if m.RefaultAnon != nil {
		s.count(g, phase, into, memory, sample.CgroupRefaultAn, e, *m.RefaultAnon, name)
	}
}

func (s *source) limitsV1(g group, phase sample.Phase, into sample.Sink) {
	e := sample.Entity{Cgroup: g.path}
	if limit := s.limit(g, "memory.limit_in_bytes"); limit != nil {
		into.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: g.path, Class: "max"}, float64(*limit), "memory.limit_in_bytes")
	}
	const name = "memory.failcnt"
	if b, ok := s.read(g, name); ok {
		if v, err := parseNumber(b); s.fault(g, name, err) {
			s.count(g, phase, into, memory, sample.CgroupLimitHits, e, v, name)
		}
	}
}

// limitsV2 emits the lower of the two limits, as that is the one that is met.
func (s *source) limitsV2(g group, phase sample.Phase, into sample.Sink) {
	limit, class := s.limit(g, "memory.max"), "max"
	if high := s.limit(g, "memory.high"); high != nil && (limit == nil || *high < *limit) {
		limit, class = high, "high"
	}
	if limit != nil {
		into.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: g.path, Class: class}, float64(*limit), "memory."+class)
	}
	const name = "memory.events"
	b, ok := s.read(g, name)
	if !ok {
		return
	}
	if ev, err := procfile.ParseMemoryEvents(b); s.fault(g, name, err) && ev.Max != nil && ev.High != nil {
		s.count(g, phase, into, memory, sample.CgroupLimitHits, sample.Entity{Cgroup: g.path}, *ev.Max+*ev.High, name)
	}
}

func (s *source) limit(g group, name string) *uint64 {
	b, ok := s.read(g, name)
	if !ok {
		return nil
	}
	v, err := procfile.ParseLimit(b)
	s.fault(g, name, err)
	return v
}
