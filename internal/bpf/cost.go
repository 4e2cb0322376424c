package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// costMeter measures the programs' run time. The kernel's own measuring adds
// about 40 ns to every run, so it is on for one tick in five and the result
// is scaled to the window.
type costMeter struct {
	stats   io.Closer
	since   time.Time
	on      time.Duration
	ticks   int
	start   time.Time
	refused bool // may not be measured
	base    map[string]ebpf.ProgramStats
	time    map[string]time.Duration
	runs    map[string]uint64
	miss    map[string]uint64
}

func (c *costMeter) close() {
	if c.stats != nil {
		c.stats.Close()
		c.stats = nil
	}
}

// emitCost emits, at the last phase, what the probe's programs took: cost.bpf_time
// seconds and cost.bpf_runs, one entity a program (Class is its name), scaled
// from the ticks that were measured to the whole window.
func (p *Probe) emitCost(phase sample.Phase, now time.Time, into sample.Sink) error {
	c := &p.cost
	switch phase {
	case sample.First:
		c.start = now
		c.base = map[string]ebpf.ProgramStats{}
		c.time = map[string]time.Duration{}
		c.runs = map[string]uint64{}
		c.miss = map[string]uint64{}
		err := p.measureOn(now)
		if errors.Is(err, os.ErrPermission) { // it takes CAP_SYS_ADMIN, counting does not
			into.PutGap(sample.Gap{
				Why:     "what the kernel programs cost was not measured: run as root, or with CAP_SYS_ADMIN",
				Metrics: []sample.Metric{sample.CostBPFTime, sample.CostBPFRuns},
			})
			c.refused = true
			return nil
		}
		return err
	case sample.Tick:
		c.ticks++
		if err := p.measureOff(now); err != nil {
			return err
		}
		if c.ticks%5 == 0 && !c.refused {
			return p.measureOn(now)
		}
		return nil
	}
	if err := p.measureOff(now); err != nil {
		return err
	}
	if c.on == 0 {
		return nil
	}
	scale := now.Sub(c.start).Seconds() / c.on.Seconds()
	for _, name := range p.programs {
		e := sample.Entity{Class: name}
		into.Put(sample.CostBPFTime, e, c.time[name].Seconds()*scale, "BPF_ENABLE_STATS")
		into.Put(sample.CostBPFRuns, e, float64(c.runs[name])*scale, "BPF_ENABLE_STATS")
		if n := c.miss[name]; n > 0 {
			into.Put(sample.CostLost, sample.Entity{Class: name + " recursion"}, float64(n), "BPF_ENABLE_STATS")
		}
	}
	return nil
}

// Phase begins and ends the account of the object's programs and emits what
// they cost. Every probe calls it first in each of its phases.
func (p *Probe) Phase(phase sample.Phase, now time.Time, into sample.Sink) error {
	err := p.emitCost(phase, now, into)
	switch phase {
	case sample.First:
		return errors.Join(err, p.enable(true))
	case sample.Last:
		return errors.Join(err, p.enable(false))
	}
	return err
}

func (p *Probe) measureOn(now time.Time) error {
	c := &p.cost
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return fmt.Errorf("measuring the run time of kernel programs: %w", err)
	}
	c.stats, c.since = stats, now
	return p.eachStats(func(name string, s *ebpf.ProgramStats) {
		c.base[name] = *s
		if c.ticks == 0 {
			c.miss[name] = s.RecursionMisses
		}
	})
}

func (p *Probe) measureOff(now time.Time) error {
	c := &p.cost
	if c.stats == nil {
		return nil
	}
	err := p.eachStats(func(name string, s *ebpf.ProgramStats) {
		b := c.base[name]
		c.time[name] += s.Runtime - b.Runtime
		c.runs[name] += s.RunCount - b.RunCount
		c.miss[name] = s.RecursionMisses
	})
	c.on += now.Sub(c.since)
	c.close()
	return err
}

func (p *Probe) eachStats(f func(string, *ebpf.ProgramStats)) error {
	for _, name := range p.programs {
		s, err := p.collection.Programs[name].Stats()
		if err != nil {
			return fmt.Errorf("reading the run time of %s: %w", name, err)
		}
		f(name, s)
	}
	return nil
}

// Losses emits the object's counters of what could not be kept or was not
// seen, as cost.lost with the Class "PROBE COUNTER".
func (p *Probe) Losses(probe string, counters []string, into sample.Sink) error {
	for _, name := range counters {
		n, err := p.Counter(name)
		if err != nil {
			return err
		}
		if n > 0 {
			into.Put(sample.CostLost, sample.Entity{Class: probe + " " + name}, float64(n), "kernel program")
		}
	}
	return nil
}
