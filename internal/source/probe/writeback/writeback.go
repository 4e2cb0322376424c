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
	sweep  bpf.Sweep
	known  map[writebackWrittenKey]writtenRow
}

// writtenRow is a row at the sweep before.
type writtenRow struct {
	bytes uint64
	rests int // sweeps since it was written to
}

// restsFor is how many sweeps a row is kept that is not written to: a file may be
// written to at any time by a thread of the kernel, which must not be just about
// to add to its row.
const restsFor = 2

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host) (sample.Source, error) {
	p, err := Plan().Open(nil)
	if err != nil {
		return nil, fmt.Errorf("opening the writeback probe: %w", err)
	}
	return &Probe{host: h, probe: p, lookup: host.NewLookup(h)}, nil
}

// Plan is what the probe loads.
func Plan() *bpf.Plan {
	return &bpf.Plan{Object: _WritebackBytes, Programs: []bpf.Program{
		{Name: "on_bio", Tracepoint: "block_bio_queue", Arguments: 1},
		{Name: "on_bio_old", Tracepoint: "block_bio_queue", Arguments: 2},
		{Name: "on_balance", Tracepoint: "balance_dirty_pages", Arguments: 8},
		{Name: "on_balance_old", Tracepoint: "balance_dirty_pages", Arguments: 12},
	}}
}

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: everything where a window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	if p.sweep.Due(phase, p.host.Now()) {
		err = errors.Join(err, p.written(phase, into), p.writers(phase, into))
	}
	if !phase.Closes() {
		return err
	}
	return errors.Join(err, p.probe.Losses("writeback", []string{"lost_rows"}, into))
}

// written emits the rows that rest for the last time, and where a window ends
// all others, added up by device, cgroup and file.
func (p *Probe) written(phase sample.Phase, into sample.Sink) error {
	before := p.known
	p.known = map[writebackWrittenKey]writtenRow{}
	sums := map[sample.Entity]float64{{}: 0} // nothing written is a measurement too
	var gone []writebackWrittenKey
	err := bpf.Each(p.probe.Map("written"), func(k writebackWrittenKey, v writebackWritten) {
		now := writtenRow{bytes: v.Bytes}
		if was, ok := before[k]; ok && was.bytes == v.Bytes {
			now.rests = was.rests + 1
		}
		if now.rests >= restsFor {
			gone = append(gone, k)
			return
		}
		p.known[k] = now
		for _, e := range p.entities(k) {
			sums[e] += float64(v.Bytes)
		}
	})
	for _, k := range gone {
		v, ok, e := bpf.Take[writebackWrittenKey, writebackWritten](p.probe.Map("written"), k)
		if err = errors.Join(err, e); ok {
			for _, e := range p.entities(k) {
				into.PutLast(sample.WritebackBytes, e, float64(v.Bytes), fromBio)
			}
		}
	}
	if phase.Closes() {
		for e, bytes := range sums {
			into.PutTotal(sample.WritebackBytes, e, bytes, fromBio)
		}
	}
	if err != nil {
		return fmt.Errorf("reading what was written back: %w", err)
	}
	return nil
}

// entities are those that a row belongs to.
func (p *Probe) entities(k writebackWrittenKey) []sample.Entity {
	device := p.lookup.Disk(k.Dev)
	all := []sample.Entity{{Device: device}, {Device: device, File: sample.FileID{Dev: k.Sdev, Ino: k.Ino}}}
	if path := p.lookup.MemoryCgroup(k.Cgroup); path != "" {
		all = append(all, sample.Entity{Device: device, Cgroup: path})
	}
	return all
}

// writers emits the rates of those that have ended, for the last time, and where
// a window ends those of all others.
func (p *Probe) writers(phase sample.Phase, into sample.Sink) error {
	var gone []uint32
	ended := p.lookup.Ended()
	err := bpf.Each(p.probe.Map("writers"), func(tgid uint32, v writebackWriter) {
		is := ended(tgid)
		if is {
			gone = append(gone, tgid)
		}
		if (is || phase.Closes()) && int(tgid) != p.host.Self {
			into.Put(sample.WritebackRate, sample.Entity{PID: int(tgid)}, float64(v.TaskRate), fromBalance)
		}
	})
	for _, tgid := range gone {
		_, _, e := bpf.Take[uint32, writebackWriter](p.probe.Map("writers"), tgid)
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("reading the rates granted to writers: %w", err)
	}
	return nil
}
