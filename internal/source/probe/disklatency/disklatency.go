// Package disklatency counts how long the reads and writes of each disk take and how
// large they are, all the time: one program at the end of each request. The probe
// blockio tells more of each, and costs more.
package disklatency

import (
	"errors"
	"fmt"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Metrics is everything that the probe emits.
func Metrics() []sample.Metric {
	return []sample.Metric{sample.DiskReadLatency, sample.DiskWriteLatency, sample.DiskReadSize, sample.DiskWriteSize}
}

const (
	fromComplete = "tp:block_rq_complete"
	onComplete   = "on_complete"

	// runCost is what a request takes more, with the kernel's way to the program, in
	// seconds (docs/performance.md).
	runCost = 125e-9
	// mostCost is the share of a processor that the program may take: above it, it is
	// attached in some intervals only.
	mostCost = 0.005
)

// Probe is the loaded probe.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup

	seen  uint64 // when the interval began
	began time.Time
	rests int // intervals for which nothing is attached
}

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host) (sample.Source, error) {
	spec, err := loadDisklatency()
	if err != nil {
		return nil, fmt.Errorf("reading the disk latency object: %w", err)
	}
	p, err := bpf.Open(spec, []bpf.Program{{Name: onComplete, Tracepoint: "block_rq_complete"}}, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the disk latency probe: %w", err)
	}
	return &Probe{host: h, probe: p, lookup: host.NewLookup(h)}, nil
}

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: everything where a window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	switch phase {
	case sample.First:
		p.began = p.host.Now()
		// without measuring what it costs, which makes all programs slower
		return errors.Join(p.probe.SetVariable("enabled", uint32(1)), p.emit(into))
	case sample.Tick:
		return nil
	}
	return errors.Join(p.emit(into), p.pace(p.host.Now(), into),
		p.probe.Losses("disklatency", []string{"lost_disks", "untimed"}, into))
}

func (p *Probe) emit(into sample.Sink) error {
	err := bpf.Each(p.probe.Map("disks"), func(k disklatencyDiskKey, r disklatencyDiskRow) {
		e := sample.Entity{Device: p.lookup.Disk(k.Dev)}
		took, size := sample.DiskReadLatency, sample.DiskReadSize
		if k.Op == 1 {
			took, size = sample.DiskWriteLatency, sample.DiskWriteSize
		}
		into.PutHistogram(took, e, sample.Histogram{Unit: "2^-30 seconds", Counts: r.Latency, Sum: float64(r.LatencySum) / 1e9}, fromComplete)
		into.PutHistogram(size, e, sample.Histogram{Unit: "bytes", Counts: r.Size, Sum: float64(r.SizeSum)}, fromComplete)
	})
	if err != nil {
		return fmt.Errorf("reading the latencies of disks: %w", err)
	}
	return nil
}

// pace tells what the interval cost, and attaches the program for so much of the
// next ones that it stays within its share.
func (p *Probe) pace(now time.Time, into sample.Sink) error {
	seen, err := p.probe.Counter("seen")
	if err != nil {
		return err
	}
	length := now.Sub(p.began)
	cost := float64(seen-p.seen) * runCost
	p.seen, p.began = seen, now
	into.Put(sample.CostBPFTime, sample.Entity{Class: "estimated"}, cost, "events x the ns of one in docs/performance.md")
	if p.rests > 0 {
		if p.rests--; p.rests == 0 {
			return p.probe.Attach(onComplete)
		}
		return nil
	}
	if p.rests = rests(cost, length); p.rests > 0 {
		return p.probe.Detach(onComplete)
	}
	return nil
}

// rests is how many intervals follow without the program after one that took so much.
func rests(cost float64, length time.Duration) int {
	if length <= 0 {
		return 0
	}
	return int(cost / length.Seconds() / mostCost)
}
