// Package reclaim measures how long processes stall in direct reclaim and in
// compaction: time in which they look for memory instead of doing their work. And
// how far away the pages had been that come back after reclaim evicted them.
package reclaim

import (
	"errors"
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	fromReclaim = "tp:mm_vmscan_direct_reclaim_end"
	fromCgroup  = "tp:mm_vmscan_memcg_reclaim_end"
	fromCompact = "tp:mm_compaction_end"
)

// Kinds of stall, in the order of enum kind in reclaim.bpf.c.
const (
	reclaimHost = iota
	reclaimCgroup
	compact
)

// Metrics is everything that the probe emits. reclaim.direct_time and
// reclaim.direct_stalls carry the Class "host" (memory of the host ran low) or
// "cgroup" (a cgroup reached its limit).
func Metrics() []sample.Metric {
	return []sample.Metric{sample.ReclaimTime, sample.ReclaimStalls, sample.ReclaimThreads, sample.CompactTime, sample.CompactStalls,
		sample.RefaultPages, sample.RefaultEvicted, sample.RefaultHorizon}
}

// Probe is the attached probe.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup
	within bool   // a cgroup namespace of its own
	each   uint64 // pages of 4 KiB in one of the kernel's
	sweep  bpf.Sweep
}

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host) (sample.Source, error) {
	p, err := Plan().Open(nil)
	if err != nil {
		return nil, fmt.Errorf("opening the reclaim probe: %w", err)
	}
	return &Probe{host: h, probe: p, lookup: host.NewLookup(h), within: h.HasOwnCgroups(), each: h.PageSize() / 4096}, nil
}

// Plan is what the probe loads.
func Plan() *bpf.Plan {
	return &bpf.Plan{Object: _ReclaimBytes, Programs: []bpf.Program{
		{Name: "on_reclaim", Tracepoint: "mm_vmscan_direct_reclaim_begin"},
		{Name: "on_reclaim_end", Tracepoint: "mm_vmscan_direct_reclaim_end"},
		{Name: "on_cgroup_reclaim", Tracepoint: "mm_vmscan_memcg_reclaim_begin", Optional: true},
		{Name: "on_cgroup_reclaim_end", Tracepoint: "mm_vmscan_memcg_reclaim_end", Optional: true},
		{Name: "on_compaction", Tracepoint: "mm_compaction_begin", Optional: true},
		{Name: "on_compaction_end", Tracepoint: "mm_compaction_end", Optional: true},
		{Name: "on_return", Tracepoint: "mm_filemap_add_to_page_cache"},
		{Name: "on_evict", Tracepoint: "mm_filemap_delete_from_page_cache"},
	}}
}

// Ways says what the programs do without on this kernel.
func (p *Probe) Ways() []sample.Way { return p.probe.Ways() }

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: everything where a
// window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	if !p.sweep.Due(phase, p.host.Now()) {
		return err
	}
	err = errors.Join(err, p.stalls(phase, into), p.refaults(phase, into), p.probe.Processes(p.lookup, into))
	if !phase.Closes() {
		return err
	}
	// nobody stalled is a measurement too
	into.Put(sample.ReclaimTime, sample.Entity{}, 0, fromReclaim)
	into.Put(sample.CompactTime, sample.Entity{}, 0, fromCompact)
	return errors.Join(err, p.probe.Losses("reclaim", []string{"lost_tasks", "lost_rows", "lost_refaults", "lost_processes"}, into))
}

// stalls emits those of processes that have ended, for the last time, and where a
// window ends those of all others.
func (p *Probe) stalls(phase sample.Phase, into sample.Sink) error {
	ended := p.lookup.Ended()
	err := bpf.Totals(p.probe.Map("stalls"), phase, into, func(tgid *uint32, _ *reclaimStalls) bool { return ended(*tgid) },
		func(tgid *uint32, s *reclaimStalls, put bpf.Total) { p.emit(*tgid, s, into, put) })
	if phase.Closes() {
		err = errors.Join(err, p.probe.EndWindow())
	}
	if err != nil {
		return fmt.Errorf("reading the stalls in reclaim: %w", err)
	}
	return nil
}

// emit emits one process; put is how its totals are told.
func (p *Probe) emit(tgid uint32, s *reclaimStalls, into sample.Sink, put bpf.Total) {
	if s.Kernel != 0 || int(tgid) == p.host.Self {
		return
	}
	if s.Window == p.probe.Window() {
		into.Put(sample.ReclaimThreads, sample.Entity{PID: int(tgid)}, float64(s.Threads), fromReclaim)
	}
	for kind, k := range [...]struct {
		time, count   sample.Metric
		class, source string
	}{
		reclaimHost:   {sample.ReclaimTime, sample.ReclaimStalls, "host", fromReclaim},
		reclaimCgroup: {sample.ReclaimTime, sample.ReclaimStalls, "cgroup", fromCgroup},
		compact:       {sample.CompactTime, sample.CompactStalls, "", fromCompact},
	} {
		if s.Count[kind] > 0 {
			e := sample.Entity{PID: int(tgid), Class: k.class}
			put(k.time, e, float64(s.Ns[kind])/1e9, k.source)
			put(k.count, e, float64(s.Count[kind]), k.source)
		}
	}
}
