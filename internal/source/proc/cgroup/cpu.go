package cgroup

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// collectCPU reads the processor limit of one cgroup, and how often it stopped
// the cgroup's threads. Both are the cgroup's own, whatever is above it.
func (s *source) collectCPU(g group, phase sample.Phase, into sample.Sink) {
	e := sample.Entity{Cgroup: g.path}
	from, quota, known := s.quota(g)
	if quota > 0 {
		into.Put(sample.CgroupCPUQuota, e, quota, from)
	}
	if quota == 0 && known && g.kept.noPeriods {
		return
	}
	const name = "cpu.stat"
	b, ok := s.read(g, name)
	if !ok {
		return
	}
	c, err := parseCPU(b)
	if !s.fault(g, name, err) || c.Periods == nil || c.Throttled == nil {
		return
	}
	// All cgroups have these figures, mostly 0; those without a limit are not
	// worth a series.
	none := quota == 0 && *c.Periods == 0
	if g.kept != nil {
		g.kept.noPeriods = none
	}
	if none {
		return
	}
	s.count(g, phase, into, cpu, sample.CgroupPeriods, e, *c.Periods, name)
	s.count(g, phase, into, cpu, sample.CgroupThrottled, e, *c.Throttled, name)
	if c.Held != nil {
		if rise, rose := s.rise(g, phase, into, cpu, sample.CgroupCPUHeld, e, *c.Held, name); rose {
			into.Put(sample.CgroupCPUHeld, e, float64(rise)/1e9, name)
		}
	}
}

// quota is how many processors a cgroup may use at once, 0 without a limit,
// where that is set, and whether nobody set it since the pass before.
func (s *source) quota(g group) (file string, processors float64, known bool) {
	if s.trees[cpu].V2 {
		file = "cpu.max"
		if b, known, ok := s.setting(g, file); ok {
			q, err := parseMax(b)
			s.fault(g, file, err)
			return file, q, known
		}
		return file, 0, false
	}
	file = "cpu.cfs_quota_us"
	b, known, ok := s.setting(g, file)
	if !ok || bytes.HasPrefix(b, []byte("-1")) {
		return file, 0, ok && known
	}
	quota, err := parseNumber(b)
	if !s.fault(g, file, err) {
		return file, 0, false
	}
	const length = "cpu.cfs_period_us"
	if b, _, ok = s.setting(g, length); !ok {
		return file, 0, false
	}
	period, err := parseNumber(b)
	if !s.fault(g, length, err) || period == 0 {
		return file, 0, false
	}
	return file, float64(quota) / float64(period), known
}

// parseMax reads cpu.max, "QUOTA PERIOD" in microseconds, as processors; it is
// 0 for "max".
func parseMax(b []byte) (float64, error) {
	first, rest := host.Field(bytes.TrimSpace(b))
	if string(first) == "max" {
		return 0, nil
	}
	second, _ := host.Field(rest)
	quota, ok := host.Uint(first)
	period, ok2 := host.Uint(second)
	if !ok || !ok2 || period == 0 {
		return 0, &host.LineError{Line: 1, What: fmt.Sprintf("%.40q is not a quota and a period", b)}
	}
	return float64(quota) / float64(period), nil
}

// CPU is what is read of cpu.stat since the cgroup came to be. Nil is not in
// this kernel's file.
type CPU struct {
	Periods, Throttled *uint64
	Held               *uint64 // ns
}

// parseCPU reads cpu.stat of version 1 (throttled_time, in ns) or version 2
// (throttled_usec).
func parseCPU(b []byte) (CPU, error) {
	var c CPU
	var us *uint64
	err := host.Pairs(b, func(key []byte) **uint64 {
		switch string(key) {
		case "nr_periods":
			return &c.Periods
		case "nr_throttled":
			return &c.Throttled
		case "throttled_time":
			return &c.Held
		case "throttled_usec":
			return &us
		}
		return nil
	})
	if c.Held == nil && us != nil {
		ns := *us * 1000
		c.Held = &ns
	}
	return c, err
}
