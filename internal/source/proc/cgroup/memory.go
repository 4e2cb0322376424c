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
	usage := procfile.MemoryUsageFile(s.trees[memory].V2)
	if b, ok := s.read(g, usage); ok {
		if v, err := parseNumber(b); s.fault(g, usage, err) {
			into.Put(sample.CgroupMemUsage, e, float64(v), usage)
		}
	}
	s.collectMemoryStat(g, phase, into)
	known := true
	limit, file := procfile.LowestLimit(s.trees[memory].V2, func(name string) *uint64 {
		l, unchanged := s.limit(g, name)
		known = known && unchanged
		return l
	})
	if limit != nil {
		into.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: g.path, Class: limitClass(file)}, float64(*limit), file)
	}
	s.collectLimitHits(g, phase, into, limit == nil && known)
}

// limitClass is the class of a limit by its file.
func limitClass(file string) string {
	if file == "memory.high" {
		return sample.ClassHigh
	}
	return sample.ClassMax
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

// collectLimitHits reads how often limits were met. In version 1 that is the cgroup's own
// limit: while it has none, the figure stays as it is.
func (s *source) collectLimitHits(g group, phase sample.Phase, into sample.Sink, unlimited bool) {
	e, name := sample.Entity{Cgroup: g.path}, "memory.failcnt"
	if s.trees[memory].V2 {
		name = "memory.events"
	}
	var b []byte
	var ok bool
	if unlimited && !s.trees[memory].V2 {
		b, _, ok = s.setting(g, name)
	} else {
		g.kept.written(name)
		b, ok = s.read(g, name)
	}
	if !ok {
		return
	}
	if s.trees[memory].V2 {
		if ev, err := procfile.ParseMemoryEvents(b); s.fault(g, name, err) && ev.Max != nil && ev.High != nil {
			s.count(g, phase, into, memory, sample.CgroupLimitHits, e, *ev.Max+*ev.High, name)
		}
	} else if v, err := parseNumber(b); s.fault(g, name, err) {
		s.count(g, phase, into, memory, sample.CgroupLimitHits, e, v, name)
	}
}

// limit reads a limit, nil for none, and tells whether nobody set it since the pass before.
func (s *source) limit(g group, name string) (l *uint64, known bool) {
	b, known, ok := s.setting(g, name)
	if !ok {
		return nil, false
	}
	v, err := procfile.ParseLimit(b)
	s.fault(g, name, err)
	return v, known
}
