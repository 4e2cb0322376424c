package blockio

import (
	"errors"
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

func (p *Probe) putIO(e sample.Entity, io *blockioIo, put bpf.Total) {
	put(sample.BlockOps, e, float64(operations(io)), fromComplete)
	put(sample.BlockBytes, e, float64(io.Bytes), fromComplete)
	put(sample.BlockQueueTime, e, float64(io.QueueNs)/1e9, fromComplete)
	put(sample.BlockDeviceTime, e, float64(io.DeviceNs)/1e9, fromComplete)
	put(sample.BlockSequential, e, float64(io.Sequential), p.fromStart)
	if io.Errors > 0 {
		put(sample.BlockErrors, e, float64(io.Errors), fromComplete)
	}
}

// operations are in the histogram of sizes, each once.
func operations(io *blockioIo) uint64 {
	n := uint64(0)
	for _, ops := range io.Size {
		n += ops
	}
	return n
}

// firstSize is the power of two that a row's histogram of sizes begins with.
const firstSize = 9

func sizes(io *blockioIo) sample.Histogram {
	h := sample.Histogram{Unit: "bytes", Sum: float64(io.Bytes)}
	copy(h.Counts[firstSize:], io.Size[:])
	return h
}

// emitOwners emits I/O by process, by cgroup, and by device, each with the
// operation.
func (p *Probe) emitOwners(phase sample.Phase, into sample.Sink) error {
	ended, self := p.lookup.Ended(), uint32(p.host.Self)
	tell := func(k *blockioOwnerKey, io *blockioIo, put bpf.Total) {
		device, op := p.lookup.Disk(k.Dev), opName(k.Op)
		p.putIO(sample.Entity{Device: device, Class: op}, io, put)
		p.putDirect(k.Tgid, io.DirectBytes, io.DirectAgain, put)
		if k.Tgid != self {
			e := sample.Entity{PID: int(k.Tgid), Device: device, Class: op}
			p.putIO(e, io, put)
			if k.Tgid != 0 {
				into.PutHistogram(sample.HistSize, e, sizes(io), fromComplete)
			}
		}
		if path := p.lookup.IOCgroup(k.Cgroup); path != "" {
			p.putIO(sample.Entity{Cgroup: path, Device: device, Class: op}, io, put)
		}
	}
	err := errors.Join(p.nearOwners(phase, into, ended, tell),
		sweep(p.probe.Map("by_owner"), &p.rest.owners, phase, into,
			operations, func(k *blockioOwnerKey) bool { return ended(k.Tgid) }, tell))
	if err != nil {
		return fmt.Errorf("reading block I/O by process and cgroup: %w", err)
	}
	err = sweep(p.probe.Map("process_io"), &p.rest.processes, phase, into,
		func(b *blockioProcessBios) uint64 { return b.DirectBytes + b.SwapIn + b.SwapOut },
		func(tgid *uint32) bool { return ended(*tgid) },
		func(tgid *uint32, b *blockioProcessBios, put bpf.Total) {
			e := sample.Entity{PID: int(*tgid)}
			p.putDirect(*tgid, b.DirectBytes, b.DirectAgain, put)
			for _, c := range [...]struct {
				metric sample.Metric
				value  uint64
			}{
				{sample.BlockSwapIn, b.SwapIn}, {sample.BlockSwapOut, b.SwapOut},
			} {
				if c.value > 0 {
					put(c.metric, e, float64(c.value), p.fromBio())
				}
			}
		})
	if err != nil {
		return fmt.Errorf("reading direct and swap I/O by process: %w", err)
	}
	if !phase.Closes() {
		return nil
	}
	// none at all is a measurement too
	into.Put(sample.BlockOps, sample.Entity{}, 0, fromComplete)
	into.Put(sample.BlockFailures, sample.Entity{}, 0, fromComplete)
	for _, m := range []sample.Metric{sample.BlockDirect, sample.BlockDirectAgn, sample.BlockSwapIn, sample.BlockSwapOut, sample.BlockThrottled} {
		into.Put(m, sample.Entity{}, 0, p.fromBio())
	}
	return nil
}

func (p *Probe) putDirect(tgid uint32, bytes, again uint64, put bpf.Total) {
	e := sample.Entity{PID: int(tgid)}
	if bytes > 0 {
		put(sample.BlockDirect, e, float64(bytes), p.fromBio())
	}
	if again > 0 {
		put(sample.BlockDirectAgn, e, float64(again), p.fromBio())
	}
}

// emitThrottled emits held-back bios by cgroup and device.
func (p *Probe) emitThrottled(into sample.Sink) error {
	err := bpf.Each(p.probe.Map("throttled"), func(k blockioThrottleKey, b blockioBios) {
		path := p.lookup.IOCgroup(k.Cgroup)
		if path == "" {
			path = fmt.Sprintf("(removed cgroup %d)", k.Cgroup)
		}
		e := sample.Entity{Cgroup: path, Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}
		into.PutTotal(sample.BlockThrottled, e, float64(b.Ops), p.fromBio())
		into.PutTotal(sample.BlockThrottledB, e, float64(b.Bytes), p.fromBio())
	})
	if err != nil {
		return fmt.Errorf("reading held-back I/O by cgroup: %w", err)
	}
	return nil
}

// emitFiles emits I/O by file. A file has no end that would be seen here: its row
// goes when it rests.
func (p *Probe) emitFiles(phase sample.Phase, into sample.Sink) error {
	err := sweep(p.probe.Map("by_file"), &p.rest.files, phase, into,
		func(b *blockioBios) uint64 { return b.Ops },
		func(*blockioFileKey) bool { return true },
		func(k *blockioFileKey, b *blockioBios, put bpf.Total) {
			e := sample.Entity{
				File:   sample.FileID{Dev: k.Sdev, Ino: k.Ino},
				Device: p.lookup.Disk(k.Dev),
				Class:  opName(k.Op),
			}
			metric := sample.BlockFileBytes
			if k.Lower != 0 {
				metric = sample.BlockLowerBytes
			}
			put(metric, e, float64(b.Bytes), p.fromBio())
		})
	if err != nil {
		return fmt.Errorf("reading block I/O by file: %w", err)
	}
	return nil
}

// statuses are what a request can end with, by blk_status_t of
// include/linux/blk_types.h.
func statuses() []string {
	return []string{
		"ok", "not supported", "timeout", "no space", "transport", "target", "reservation", "medium", "protection",
		"resource", "error", "requeue", "again", "device resource", "zone resource", "zone open", "zone active",
		"offline", "duration limit", "invalid",
	}
}

// requeued is STATUS_REQUEUED of the program.
const requeued = 256

// emitFailures emits the requests that failed or were put back, by process,
// device, operation and what they failed with.
func (p *Probe) emitFailures(phase sample.Phase, into sample.Sink) error {
	names, ended := statuses(), p.lookup.Ended()
	err := sweep(p.probe.Map("failures"), &p.rest.failures, phase, into,
		func(f *blockioFailure) uint64 { return f.Ops },
		func(k *blockioFailureKey) bool { return ended(k.Tgid) },
		func(k *blockioFailureKey, f *blockioFailure, put bpf.Total) {
			e := sample.Entity{PID: int(k.Tgid), Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}
			if k.Status == requeued {
				put(sample.BlockRequeues, e, float64(f.Ops), fromRequeue)
				return
			}
			status := fmt.Sprintf("status %d", k.Status)
			if int(k.Status) < len(names) {
				status = names[k.Status]
			}
			e.Class += " " + status
			put(sample.BlockFailures, e, float64(f.Ops), fromComplete)
			put(sample.BlockFailTime, e, float64(f.Ns)/1e9, fromComplete)
		})
	if err != nil {
		return fmt.Errorf("reading the failures of block I/O: %w", err)
	}
	return nil
}

// emitDevices emits each device's depth, latency by depth, and histograms.
func (p *Probe) emitDevices(into sample.Sink) error {
	near, err := p.nearDevices()
	for row, dev := range near {
		var d blockioNearDevice
		if e := p.probe.Map("near_devices").Lookup(uint32(row), &d); e != nil || dev == 0 {
			err = errors.Join(err, e)
			continue
		}
		emitDepths(p.lookup.Disk(dev), &d.Device, into)
	}
	err = errors.Join(err, bpf.Each(p.probe.Map("devices"), func(dev uint32, d blockioDevice) {
		emitDepths(p.lookup.Disk(dev), &d, into)
	}), bpf.Each(p.probe.Map("disks"), func(_ uint32, set blockioDiskSet) {
		for way, dev := range set.Ids {
			if dev != 0 {
				p.emitDisk(p.lookup.Disk(uint32(dev)), &set.Rows[way], into)
			}
		}
	}))
	err = errors.Join(err, p.probe.EndWindow())
	if err != nil {
		return fmt.Errorf("reading block I/O by device: %w", err)
	}
	return nil
}

// emitDisk emits what else there is of a device.
func (p *Probe) emitDisk(device string, d *blockioDisk, into sample.Sink) {
	const begun = 1 << 24 // as in the programs
	most := uint32(d.Most)
	if uint32(d.Most>>32) != p.probe.Window() { // none has begun in this window
		most = uint32(d.Flights % begun)
	}
	into.Put(sample.BlockMaxFlight, sample.Entity{Device: device}, float64(most), p.fromStart)
	if d.Untimed > 0 {
		into.PutGap(sample.Gap{
			Source: "blockio",
			Why: fmt.Sprintf("%s: %s completed without an issue time, and the queue time counts as device time, or no time at all",
				device, sample.Counted(d.Untimed, "request")),
		})
	}
}

// emitDepths emits a device's operations by depth, with their time, and its histograms.
func emitDepths(device string, d *blockioDevice, into sample.Sink) {
	for op := range d.Depths {
		for size := range d.Depths[op] {
			for depth := range d.Depths[op][size] {
				io := &d.Depths[op][size][depth]
				if io.Ops == 0 {
					continue
				}
				d.Hists[op].Size[firstSize+size] += io.Ops
				class := sample.IOClass{Op: opName(uint32(op)), Size: 1 << (firstSize + size), Depth: 1 << depth}
				e := sample.Entity{Device: device, Class: class.String()}
				into.PutTotal(sample.BlockDepthOps, e, float64(io.Ops), fromComplete)
				into.PutTotal(sample.BlockDepthTime, e, float64(io.Ns)/1e9, fromComplete)
				if io.AloneOps > 0 {
					class.Depth = 0 // whatever came later
					e.Class = class.String()
					into.PutTotal(sample.BlockAloneOps, e, float64(io.AloneOps), fromComplete)
					into.PutTotal(sample.BlockAloneTime, e, float64(io.AloneNs)/1e9, fromComplete)
				}
			}
		}
	}
	for op := range d.Hists {
		h, e := &d.Hists[op], sample.Entity{Device: device, Class: opName(uint32(op))}
		if h.Size == [len(h.Size)]uint64{} {
			continue // none of these
		}
		into.PutHistogram(sample.HistQueue, e, histogram("nanoseconds", &h.Queue, h.QueueSum), fromComplete)
		into.PutHistogram(sample.HistDevice, e, histogram("nanoseconds", &h.Device, h.DeviceSum), fromComplete)
		into.PutHistogram(sample.HistSize, e, histogram("bytes", &h.Size, h.SizeSum), fromComplete)
	}
}

func histogram(unit string, counts *[48]uint64, sum uint64) sample.Histogram {
	return sample.Histogram{Unit: unit, Counts: *counts, Sum: float64(sum)}
}
