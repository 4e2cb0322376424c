// Package meminfo reads /proc/meminfo: what the memory is used for.
package meminfo

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/sample"
)

const file = "/proc/meminfo"

type source struct {
	path string
	buf  []byte
}

// Read reads /proc/meminfo once.
func Read(h *host.Host) (Meminfo, error) {
	s := source{path: h.Proc("meminfo")}
	return s.read()
}

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{path: h.Proc("meminfo")}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) read() (Meminfo, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return Meminfo{}, fmt.Errorf("reading the use of memory: %w", err)
	}
	m, err := parse(s.buf)
	return m, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	m, err := s.read()
	if err != nil {
		return err
	}
	var cache *uint64
	if m.Cached != nil && m.Buffers != nil {
		sum := *m.Cached + *m.Buffers
		cache = &sum
	}
	var absent []sample.Metric
	for _, g := range []struct {
		metric sample.Metric
		value  *uint64
	}{
		{sample.MemTotal, m.Total}, {sample.MemFree, m.Free}, {sample.MemAvailable, m.Available},
		{sample.MemCache, cache}, {sample.MemAnon, m.Anon}, {sample.MemShmem, m.Shmem},
		{sample.MemSlab, m.Slab}, {sample.MemDirty, m.Dirty}, {sample.MemWriteback, m.Writeback},
		{sample.SwapTotal, m.SwapTotal}, {sample.SwapFree, m.SwapFree},
	} {
		if g.value == nil {
			absent = append(absent, g.metric)
			continue
		}
		into.Put(g.metric, sample.Entity{}, float64(*g.value), file)
	}
	if len(absent) > 0 && phase == sample.First {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("this kernel's %s lacks %v", file, absent), Metrics: absent})
	}
	return nil
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
