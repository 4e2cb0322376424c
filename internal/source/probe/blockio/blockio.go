// Package blockio measures block I/O at the device: sizes, queue and device
// time, depth, by process, cgroup, device and file. docs/blockio.md says how.
package blockio

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	fromComplete = "tp:block_rq_complete"
	fromRequeue  = "tp:block_rq_requeue"

	onComplete  = "on_complete"
	onMissed    = onComplete + bpf.AndMissed
	onBioDone   = bpf.OnBioDone
	onBioMissed = onBioDone + bpf.AndMissed
)

// binLength is BIN_NS of the program; so many bins make one of the wide ones,
// of a tenth of a second.
const (
	binLength = 10 * time.Millisecond
	wideBins  = 10
)

// Metrics is everything that the probe emits.
func Metrics() []sample.Metric {
	return []sample.Metric{
		sample.BlockOps, sample.BlockBytes, sample.BlockQueueTime, sample.BlockDeviceTime,
		sample.BlockSequential, sample.BlockErrors, sample.BlockFileBytes,
		sample.BlockDirect, sample.BlockDirectAgn, sample.BlockSwapIn, sample.BlockSwapOut,
		sample.BlockThrottled, sample.BlockThrottledB, sample.BlockMaxFlight, sample.BlockBinOps,
		sample.BlockBinBytes, sample.BlockBinTime, sample.BlockFineOps, sample.BlockFineBytes, sample.BlockFineTime,
		sample.BlockFailures, sample.BlockFailTime, sample.BlockRequeues, sample.BlockDepthOps, sample.BlockDepthTime,
		sample.BlockAloneOps, sample.BlockAloneTime, sample.BlockLowerBytes, sample.BlockNoOrigin,
		sample.LayerOps, sample.LayerBytes, sample.LayerTime, sample.LayerOwnTime, sample.LayerBeside,
		sample.HistQueue, sample.HistDevice, sample.HistSize,
	}
}

// Probe is the attached probe.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup
	layers *bpf.Late
	bios   *bpf.Late
	missed bpf.Missed
	issue  issue
	near   near
	sweep  bpf.Sweep
	// bioSets are the layers' bios in flight, and told what has been told of layers' parts.
	bioSets *ebpf.Memory
	told    map[layer]parts
	// fromStart is where the begin of requests is seen.
	fromStart string
	rest      struct {
		owners    rests[blockioOwnerKey]
		processes rests[uint32]
		files     rests[blockioFileKey]
		failures  rests[blockioFailureKey]
	}
}

// Open loads and attaches the probe. It needs root or CAP_BPF and
// CAP_PERFMON, and a kernel with the tracepoint block_io_start (6.5)
// or, before that, block_getrq.
func Open(h *host.Host) (sample.Source, error) {
	return open(h, func() bool { return h.TakesBios() || h.Stacked() })
}

// open is Open where bios are counted at the queue once some disk takes bios, or hands them on.
func open(h *host.Host, takesBios func() bool) (sample.Source, error) {
	plan := Plan()
	stacked, takes := h.Stacked(), takesBios()
	for i := range plan.Programs { // what is needed is loaded at once
		p := &plan.Programs[i]
		if p.After != "" {
			p.Late = h.RequestsOfDM() == 0
		} else {
			p.Late = p.Late && !stacked && (!takes || p.Tracepoint != "block_bio_queue")
		}
	}
	p, err := plan.Open(nil)
	if err != nil {
		return nil, fmt.Errorf("opening the block I/O probe: %w", err)
	}
	var near near
	var bioSets *ebpf.Memory
	var layers, bios *bpf.Late
	var missed bpf.Missed
	if err = near.open(p); err == nil {
		bioSets, err = p.Map("layer_bios").Memory()
	}
	if err == nil {
		layers, err = bpf.FollowLayers(p, h, "on_remap", "on_split", onBioDone)
	}
	if err == nil {
		bios, err = bpf.AttachLate(p, h, takesBios, "at_queue", "on_bio", "on_bio_old")
	}
	if err == nil {
		missed, err = bpf.CountMissed(p, h)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the block I/O probe: %w", err), p.Close())
	}
	return &Probe{
		host: h, probe: p, near: near, layers: layers, bios: bios, missed: missed, lookup: host.NewLookup(h), fromStart: p.Ways()[0].Hooks[0],
		bioSets: bioSets, told: map[layer]parts{},
		issue: issue{probe: p, needed: p.Ways()[0].By == bpf.ByRequest},
	}, nil
}

// Plan is what the probe loads.
func Plan() *bpf.Plan {
	return &bpf.Plan{Object: _BlockioBytes, Programs: append([]bpf.Program{
		{Name: "on_issue", Tracepoint: "block_rq_issue"},
		{Name: "on_merge", Tracepoint: "block_rq_merge"},
		{Name: onComplete, Tracepoint: "block_rq_complete"},
		{Name: onMissed, Tracepoint: "block_rq_complete", After: onComplete, Late: true},
		{Name: "on_requeue", Tracepoint: "block_rq_requeue"},
		{Name: "on_bio", Tracepoint: "block_bio_queue", Arguments: 1, Late: true},
		{Name: "on_bio_old", Tracepoint: "block_bio_queue", Arguments: 2, Late: true},
		{Name: "on_backmerge", Tracepoint: "block_bio_backmerge", Arguments: 1},
		{Name: "on_backmerge_old", Tracepoint: "block_bio_backmerge", Arguments: 3},
		{Name: "on_frontmerge", Tracepoint: "block_bio_frontmerge", Arguments: 1},
		{Name: "on_frontmerge_old", Tracepoint: "block_bio_frontmerge", Arguments: 3},
	}, bpf.LayerPrograms()...), Capabilities: []bpf.Capability{bpf.Requests(map[string]any{"by_bio": true})}}
}

// fromBio is where bios are counted.
func (p *Probe) fromBio() string {
	if p.bios.On() {
		return "tp:block_bio_queue"
	}
	return p.fromStart
}

// Ways says how the kernel is asked for the begin of requests.
func (p *Probe) Ways() []sample.Way { return p.probe.Ways() }

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: the bins at every phase, the tables
// where a window ends, and of these what rests every few seconds.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := errors.Join(p.layers.Look(), p.bios.Look(), p.missed.Look(), p.issue.look(), p.probe.Phase(phase, p.host.Now(), into), p.emitBins(phase, into))
	if p.sweep.Due(phase, p.host.Now()) {
		err = errors.Join(err, p.emitOwners(phase, into), p.emitFiles(phase, into), p.emitFailures(phase, into),
			p.probe.Processes(p.lookup, into))
		p.sweep.Saw(len(p.rest.owners) + len(p.near.rests))
	}
	if !phase.Closes() {
		return err
	}
	return errors.Join(err, p.emitThrottled(into), p.emitDevices(into), p.emitLayers(into),
		p.probe.Losses("blockio", []string{"lost_requests", "lost_rows", "lost_bins", "lost_direct", "lost_processes", "lost_layers", "missed_completions"}, into))
}

func opName(op uint32) string {
	return [...]string{sample.ClassRead, sample.ClassWrite, sample.ClassFlush, sample.ClassOther, sample.ClassDiscard}[min(op, 4)]
}

// bins are what was counted in stretches of time of one device.
type bins map[blockioBinKey]*blockioBin

// add adds to a bin, of which a part may be found near and another in the table: who
// has most of the longer part leads.
func (s bins) add(k blockioBinKey, b *blockioBin) {
	sum := s[k]
	if sum == nil {
		sum = &blockioBin{}
		s[k] = sum
	}
	if b.Ns >= sum.Ns {
		sum.Leader = b.Leader
	}
	sum.Ops, sum.Bytes, sum.Ns = sum.Ops+b.Ops, sum.Bytes+b.Bytes, sum.Ns+b.Ns
}

// sorted are the keys in the order of time: a table of the kernel has none, and series are told in that.
func (s bins) sorted() []blockioBinKey {
	return slices.SortedFunc(maps.Keys(s), func(a, b blockioBinKey) int { return cmp.Compare(a.Bin, b.Bin) })
}

// emitBins emits and removes the bins that are complete: the operations, bytes
// and time in the block layer of each hundredth of a second, device and leading
// process, and of each tenth of a second and device.
func (p *Probe) emitBins(phase sample.Phase, into sample.Sink) error {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return fmt.Errorf("reading the monotonic clock: %w", err)
	}
	now, mono := p.host.Now(), time.Duration(ts.Nano())
	current := uint64(mono / binLength / wideBins) // wide bin that is not over yet
	after := func(bins uint64) time.Time { return now.Add(time.Duration(bins)*binLength - mono) }
	fine, wide := bins{}, bins{}
	take := func(k blockioBinKey, b blockioBin) bool {
		at := blockioBinKey{Dev: k.Dev, Bin: k.Bin / wideBins}
		if at.Bin >= current && phase != sample.Last {
			return false
		}
		if phase != sample.First { // else it began before the window
			fine.add(k, &b)
			wide.add(at, &b)
		}
		return true
	}
	table := p.probe.Map("bins")
	var done []blockioBinKey
	err := errors.Join(p.nearBins(take), bpf.Each(table, func(k blockioBinKey, b blockioBin) {
		if take(k, b) {
			done = append(done, k)
		}
	}))
	if err != nil {
		return fmt.Errorf("reading the bins of block I/O: %w", err)
	}
	for _, k := range fine.sorted() {
		b := fine[k]
		e, at := sample.Entity{Device: p.lookup.Disk(k.Dev), PID: int(b.Leader)}, after(k.Bin+1)
		into.PutAt(at, sample.BlockFineOps, e, float64(b.Ops), fromComplete)
		into.PutAt(at, sample.BlockFineBytes, e, float64(b.Bytes), fromComplete)
		into.PutAt(at, sample.BlockFineTime, e, float64(b.Ns)/1e9, fromComplete)
	}
	for _, k := range wide.sorted() {
		b := wide[k]
		e, at := sample.Entity{Device: p.lookup.Disk(k.Dev)}, after((k.Bin+1)*wideBins)
		into.PutAt(at, sample.BlockBinOps, e, float64(b.Ops), fromComplete)
		into.PutAt(at, sample.BlockBinBytes, e, float64(b.Bytes), fromComplete)
		into.PutAt(at, sample.BlockBinTime, e, float64(b.Ns)/1e9, fromComplete)
	}
	for _, k := range done {
		if err := table.Delete(k); err != nil {
			return fmt.Errorf("emptying the bins of block I/O: %w", err)
		}
	}
	return nil
}
