package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// costMeter measures the programs' run time. The kernel's own measuring adds
// about 100 ns to every run, so it is on for a slice of every tick only and
// the result is scaled to the window. Safe for concurrent use: a timer ends
// the slice.
type costMeter struct {
	mu      sync.Mutex
	stats   io.Closer // not nil within a slice
	timer   *time.Timer
	failed  error // of the timer's work, until the next phase
	since   time.Time
	on      time.Duration
	start   time.Time
	refused bool // may not be measured
	base    map[string]ebpf.ProgramStats
	time    map[string]time.Duration
	runs    map[string]uint64
	miss    map[string]uint64
	alone   map[string]uint64 // of these, before another program came after it, and not told yet
}

// costSlice is how long the programs are measured at a time.
const costSlice = 50 * time.Millisecond

func (c *costMeter) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut()
}

// shut ends the slice; c.mu is held.
func (c *costMeter) shut() {
	if c.stats != nil {
		c.timer.Stop()
		c.stats.Close()
		c.stats = nil
	}
}

// emitCost emits, at the last phase, what the probe's programs took: cost.bpf_time
// seconds and cost.bpf_runs, one entity a program (Class is its name), scaled
// from the slices that were measured to the whole window.
func (p *Probe) emitCost(phase sample.Phase, now time.Time, into sample.Sink) error {
	c := &p.cost
	c.mu.Lock()
	defer c.mu.Unlock()
	failed := c.failed
	c.failed = nil
	switch phase {
	case sample.First:
		c.base = map[string]ebpf.ProgramStats{}
		c.time = map[string]time.Duration{}
		c.runs = map[string]uint64{}
		c.miss = map[string]uint64{}
		c.alone = map[string]uint64{}
		c.start, c.on = now, 0
		if err := p.misses(nil); err != nil {
			return err
		}
		err := p.measureOn(now)
		if errors.Is(err, os.ErrPermission) { // it takes CAP_SYS_ADMIN, counting does not
			into.PutGap(sample.Gap{
				Why:     "the cost of the BPF programs was not measured: run as root, or with CAP_SYS_ADMIN",
				Metrics: []sample.Metric{sample.CostBPFTime, sample.CostBPFRuns},
			})
			c.refused = true
			return nil
		}
		return err
	case sample.Tick:
		if c.refused {
			return nil
		}
		return errors.Join(failed, p.measureOff(now), p.measureOn(now))
	}
	if err := errors.Join(failed, p.measureOff(now), p.misses(into)); err != nil || c.on == 0 {
		return err
	}
	scale := now.Sub(c.start).Seconds() / c.on.Seconds()
	for _, name := range p.programs {
		e := sample.Entity{Class: name}
		into.Put(sample.CostBPFTime, e, c.time[name].Seconds()*scale, fromStats)
		into.Put(sample.CostBPFRuns, e, float64(c.runs[name])*scale, fromStats)
	}
	if phase == sample.Last {
		return nil
	}
	clear(c.time)
	clear(c.runs)
	c.start, c.on = now, 0
	return p.measureOn(now)
}

// fromStats is where the figures come from: bpf(2), BPF_ENABLE_STATS and
// BPF_OBJ_GET_INFO_BY_FD.
const fromStats = "BPF_ENABLE_STATS"

// misses emits how often a program was not run because it was running
// already, since the call before; into may be nil. The meter's lock is held.
func (p *Probe) misses(into sample.Sink) error {
	since := map[string]uint64{}
	err := p.eachStats(func(name string, s *ebpf.ProgramStats) {
		since[name] = s.RecursionMisses - p.cost.miss[name]
		p.cost.miss[name] = s.RecursionMisses
	})
	for _, name := range p.programs {
		n := p.lost(name, since) + p.cost.alone[name]
		delete(p.cost.alone, name)
		if n > 0 && into != nil {
			class := strings.TrimSuffix(name, second)
			if hook := p.hooks[name]; hook != nil && hook.After != "" {
				class = hook.After
			}
			into.Put(sample.CostLost, sample.Entity{Class: class + " recursion"}, float64(n), fromStats)
		}
	}
	return err
}

// lost is how many events were lost with a program, of those of which each program was
// passed over. Of two in a row it is the second, and at most as many as either of both.
func (p *Probe) lost(name string, missed map[string]uint64) uint64 {
	hook := p.hooks[name]
	if hook != nil && (hook.Spare || p.comesAfter(name)) {
		return 0
	}
	if first, is := strings.CutSuffix(name, second); is {
		return min(missed[first], missed[name])
	}
	if hook != nil && hook.After != "" {
		return min(missed[hook.After]+missed[hook.After+forLayers], missed[name])
	}
	return missed[name]
}

// comesAfter tells whether a copy of a program is attached that comes after it, or after
// that for layers.
func (p *Probe) comesAfter(name string) bool {
	for program := range p.links {
		if hook := p.hooks[program]; hook != nil && hook.After != "" && hook.After == strings.TrimSuffix(name, forLayers) {
			return true
		}
	}
	return false
}

// PassedOver is how often the kernel has not run a program, or that for layers, because it
// was running already.
func (p *Probe) PassedOver(program string) (n uint64, err error) {
	for _, name := range []string{program, program + forLayers} {
		if loaded := p.collection.Programs[name]; loaded != nil {
			s, failed := loaded.Stats()
			if failed != nil {
				return 0, fmt.Errorf("reading how often %s was passed over: %w", name, failed)
			}
			n += s.RecursionMisses
		}
	}
	return n, nil
}

// alone notes what a program was passed over for until another came after it just now.
func (p *Probe) alone(after string) error {
	p.cost.mu.Lock()
	defer p.cost.mu.Unlock()
	return p.eachStats(func(name string, s *ebpf.ProgramStats) {
		if strings.TrimSuffix(name, forLayers) == after {
			p.cost.alone[name] += s.RecursionMisses - p.cost.miss[name]
			p.cost.miss[name] = s.RecursionMisses
		}
	})
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

// measureOn begins a slice; the meter's lock is held.
func (p *Probe) measureOn(now time.Time) error {
	c := &p.cost
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return fmt.Errorf("measuring the run time of kernel programs: %w", err)
	}
	began := time.Now()
	c.stats, c.since = stats, now
	c.timer = time.AfterFunc(costSlice, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stats == stats {
			c.failed = p.measureOff(now.Add(time.Since(began)))
		}
	})
	return p.eachStats(func(name string, s *ebpf.ProgramStats) {
		c.base[name] = *s
	})
}

// measureOff ends the slice, if there is one; the meter's lock is held.
func (p *Probe) measureOff(now time.Time) error {
	c := &p.cost
	if c.stats == nil {
		return nil
	}
	err := p.eachStats(func(name string, s *ebpf.ProgramStats) {
		b := c.base[name]
		c.time[name] += s.Runtime - b.Runtime
		c.runs[name] += s.RunCount - b.RunCount
	})
	c.on += now.Sub(c.since)
	c.shut()
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
			into.PutTotal(sample.CostLost, sample.Entity{Class: probe + " " + name}, float64(n), "kernel program")
		}
	}
	return nil
}
