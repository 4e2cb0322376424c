// Package vmstat reads /proc/vmstat: paging, swapping, reclaim, refaults and
// the limits of dirty memory.
package vmstat

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/sample"
)

const file = "/proc/vmstat"

type source struct {
	path     string
	page     float64 // bytes
	buf      []byte
	counters host.Counters[sample.Metric]
}

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{path: h.Proc("vmstat"), page: float64(h.PageSize())}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) read() (Vmstat, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return Vmstat{}, fmt.Errorf("reading the memory's events: %w", err)
	}
	v, err := parse(s.buf)
	return v, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	v, err := s.read()
	if err != nil {
		return err
	}
	if phase == sample.First {
		s.counters.Reset()
	}
	var absent []sample.Metric
	type counter struct {
		metric sample.Metric
		value  *uint64
		unit   float64
	}
	counters := []counter{
		{sample.VMPageIn, v.PageIn, 1024}, {sample.VMPageOut, v.PageOut, 1024},
		{sample.VMSwapIn, v.SwapIn, 1}, {sample.VMSwapOut, v.SwapOut, 1},
		{sample.VMMajorFault, v.MajorFaults, 1},
		{sample.VMRefaultFile, v.RefaultFile, 1}, {sample.VMRefaultAnon, v.RefaultAnon, 1},
		{sample.VMScanDirect, v.ScanDirect, 1}, {sample.VMStealDirect, v.StealDirect, 1},
		{sample.VMScanKswapd, v.ScanKswapd, 1}, {sample.VMStealKswapd, v.StealKswapd, 1},
		{sample.VMAllocStall, v.AllocStall, 1}, {sample.VMCompact, v.CompactStall, 1},
		{sample.VMKilled, v.Killed, 1}, {sample.VMDirtied, v.Dirtied, 1}, {sample.VMWritten, v.Written, 1},
	}
	if v.HugeMapped != nil { // else this kernel maps none
		// a table of the lowest level maps a huge page: one entry of 8 bytes a page
		counters = append(counters, counter{sample.VMHugeMapped, v.HugeMapped, s.page / 8})
	}
	for _, c := range counters {
		if c.value == nil {
			absent = append(absent, c.metric)
			continue
		}
		rise, how := s.counters.Step(c.metric, *c.value)
		switch how {
		case host.Rose:
			into.Put(c.metric, sample.Entity{}, float64(rise)*c.unit, file)
		case host.Fell:
			into.PutGap(sample.Gap{
				Why:     fmt.Sprintf("%s: %s fell, so it was reset and part of its increase is lost", file, c.metric),
				Metrics: []sample.Metric{c.metric},
			})
		}
	}
	for _, g := range []struct {
		metric sample.Metric
		value  *uint64
	}{{sample.VMDirtyLimit, v.DirtyLimit}, {sample.VMDirtyBg, v.DirtyBg}} {
		if g.value == nil {
			absent = append(absent, g.metric)
			continue
		}
		into.Put(g.metric, sample.Entity{}, float64(*g.value)*s.page, file)
	}
	if len(absent) > 0 && phase == sample.First {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("this kernel's %s lacks %v", file, absent), Metrics: absent})
	}
	return nil
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
