// Package writeback measures what leaves the page cache for the devices, by
// file, memory cgroup and device, and the rate that the kernel grants to
// writers that it pauses. The pauses themselves are in the page-cache probe's
// account of waits.
package writeback

import (
	"errors"
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	fromBio     = "tp:block_bio_queue"
	fromBalance = "tp:balance_dirty_pages"
)

// Metrics is everything that the probe emits: writeback.bytes by device, by
// cgroup and device, and by file and device; writeback.task_rate by process.
func Metrics() []sample.Metric {
	return []sample.Metric{sample.WritebackBytes, sample.WritebackRate}
}

// Probe is the attached probe.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup
}

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host) (sample.Source, error) {
	spec, err := loadWriteback()
	if err != nil {
		return nil, fmt.Errorf("reading the writeback object: %w", err)
	}
	p, err := bpf.Open(spec, []bpf.Program{
		{Name: "on_bio", Tracepoint: "block_bio_queue"},
		{Name: "on_balance", Tracepoint: "balance_dirty_pages", Arguments: 8},
		{Name: "on_balance_old", Tracepoint: "balance_dirty_pages", Arguments: 12},
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the writeback probe: %w", err)
	}
	return &Probe{host: h, probe: p, lookup: host.NewLookup(h)}, nil
}

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: everything where a
// window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	if !phase.Closes() {
		return err
	}
	return errors.Join(err, p.emitWritten(into), p.emitWriters(into),
		p.probe.Losses("writeback", []string{"lost_rows"}, into))
}

// emitWritten adds the rows up by device, cgroup and file.
func (p *Probe) emitWritten(into sample.Sink) error {
	sums := map[sample.Entity]float64{{}: 0} // nothing written is a measurement too
	var k writebackWrittenKey
	var v writebackWritten
	it := p.probe.Map("written").Iterate()
	for it.Next(&k, &v) {
		device := p.lookup.Disk(k.Dev)
		bytes := float64(v.Bytes)
		sums[sample.Entity{Device: device}] += bytes
		sums[sample.Entity{Device: device, File: sample.FileID{Dev: k.Sdev, Ino: k.Ino}}] += bytes
		if path := p.lookup.MemoryCgroup(k.Cgroup); path != "" {
			sums[sample.Entity{Device: device, Cgroup: path}] += bytes
		}
	}
	for e, bytes := range sums {
		into.PutTotal(sample.WritebackBytes, e, bytes, fromBio)
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("reading what was written back: %w", err)
	}
	return nil
}

func (p *Probe) emitWriters(into sample.Sink) error {
	var tgid uint32
	var v writebackWriter
	it := p.probe.Map("writers").Iterate()
	for it.Next(&tgid, &v) {
		if int(tgid) != p.host.Self {
			into.Put(sample.WritebackRate, sample.Entity{PID: int(tgid)}, float64(v.TaskRate), fromBalance)
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("reading the rates granted to writers: %w", err)
	}
	return nil
}
