package blockio

import (
	"errors"
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

func putIO(e sample.Entity, io *blockioIo, into sample.Sink) {
	into.PutTotal(sample.BlockOps, e, float64(io.Ops), fromComplete)
	into.PutTotal(sample.BlockBytes, e, float64(io.Bytes), fromComplete)
	into.PutTotal(sample.BlockQueueTime, e, float64(io.QueueNs)/1e9, fromComplete)
	into.PutTotal(sample.BlockDeviceTime, e, float64(io.DeviceNs)/1e9, fromComplete)
	into.PutTotal(sample.BlockSequential, e, float64(io.Sequential), fromStart)
	if io.Errors > 0 {
		into.PutTotal(sample.BlockErrors, e, float64(io.Errors), fromComplete)
	}
}

func addIO(to, io *blockioIo) {
	to.Ops += io.Ops
	to.Bytes += io.Bytes
	to.QueueNs += io.QueueNs
	to.DeviceNs += io.DeviceNs
	to.Sequential += io.Sequential
	to.Errors += io.Errors
	for i, n := range io.Size {
		to.Size[i] += n
	}
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
func (p *Probe) emitOwners(into sample.Sink) error {
	sums := map[sample.Entity]*blockioIo{}
	add := func(e sample.Entity, io *blockioIo) {
		if sums[e] == nil {
			sums[e] = &blockioIo{}
		}
		addIO(sums[e], io)
	}
	self := uint32(p.host.Self)
	err := bpf.Each(p.probe.Map("by_owner"), func(k blockioOwnerKey, io blockioIo) {
		device, op := p.lookup.Disk(k.Dev), opName(k.Op)
		add(sample.Entity{Device: device, Class: op}, &io)
		if k.Tgid != self {
			add(sample.Entity{PID: int(k.Tgid), Device: device, Class: op}, &io)
		}
		if path := p.lookup.IOCgroup(k.Cgroup); path != "" {
			add(sample.Entity{Cgroup: path, Device: device, Class: op}, &io)
		}
	})
	if err != nil {
		return fmt.Errorf("reading block I/O by process and cgroup: %w", err)
	}
	for e, io := range sums {
		putIO(e, io, into)
		if e.PID != 0 {
			into.PutHistogram(sample.HistSize, e, sizes(io), fromComplete)
		}
	}
	err = bpf.Each(p.probe.Map("process_io"), func(tgid uint32, b blockioProcessBios) {
		e := sample.Entity{PID: int(tgid)}
		for _, c := range [...]struct {
			metric sample.Metric
			value  uint64
		}{
			{sample.BlockDirect, b.DirectBytes}, {sample.BlockDirectAgn, b.DirectAgain},
			{sample.BlockSwapIn, b.SwapIn}, {sample.BlockSwapOut, b.SwapOut},
		} {
			if c.value > 0 {
				into.PutTotal(c.metric, e, float64(c.value), fromBio)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("reading direct and swap I/O by process: %w", err)
	}
	// none at all is a measurement too
	into.Put(sample.BlockOps, sample.Entity{}, 0, fromComplete)
	into.Put(sample.BlockFailures, sample.Entity{}, 0, fromComplete)
	for _, m := range []sample.Metric{sample.BlockDirect, sample.BlockDirectAgn, sample.BlockSwapIn, sample.BlockSwapOut, sample.BlockThrottled} {
		into.Put(m, sample.Entity{}, 0, fromBio)
	}
	return nil
}

// emitThrottled emits held-back bios by cgroup and device.
func (p *Probe) emitThrottled(into sample.Sink) error {
	err := bpf.Each(p.probe.Map("throttled"), func(k blockioThrottleKey, b blockioBios) {
		path := p.lookup.IOCgroup(k.Cgroup)
		if path == "" {
			path = fmt.Sprintf("(removed cgroup %d)", k.Cgroup)
		}
		e := sample.Entity{Cgroup: path, Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}
		into.PutTotal(sample.BlockThrottled, e, float64(b.Ops), fromBio)
		into.PutTotal(sample.BlockThrottledB, e, float64(b.Bytes), fromBio)
	})
	if err != nil {
		return fmt.Errorf("reading held-back I/O by cgroup: %w", err)
	}
	return nil
}

func (p *Probe) emitFiles(into sample.Sink) error {
	err := bpf.Each(p.probe.Map("by_file"), func(k blockioFileKey, b blockioBios) {
		e := sample.Entity{
			File:   sample.FileID{Dev: k.Sdev, Ino: k.Ino},
			Device: p.lookup.Disk(k.Dev),
			Class:  opName(k.Op),
		}
		into.PutTotal(sample.BlockFileBytes, e, float64(b.Bytes), fromBio)
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
func (p *Probe) emitFailures(into sample.Sink) error {
	names := statuses()
	err := bpf.Each(p.probe.Map("failures"), func(k blockioFailureKey, f blockioFailure) {
		e := sample.Entity{PID: int(k.Tgid), Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}
		if k.Status == requeued {
			into.PutTotal(sample.BlockRequeues, e, float64(f.Ops), fromRequeue)
			return
		}
		status := fmt.Sprintf("status %d", k.Status)
		if int(k.Status) < len(names) {
			status = names[k.Status]
		}
		e.Class += " " + status
		into.PutTotal(sample.BlockFailures, e, float64(f.Ops), fromComplete)
		into.PutTotal(sample.BlockFailTime, e, float64(f.Ns)/1e9, fromComplete)
	})
	if err != nil {
		return fmt.Errorf("reading the failures of block I/O: %w", err)
	}
	return nil
}

// emitDevices emits each device's depth, latency by depth, and histograms.
func (p *Probe) emitDevices(into sample.Sink) error {
	err := bpf.Each(p.probe.Map("devices"), func(dev uint32, d blockioDevice) {
		e := sample.Entity{Device: p.lookup.Disk(dev)}
		into.Put(sample.BlockMaxFlight, e, float64(d.MaxInFlight), fromStart)
		if d.Untimed > 0 {
			into.PutGap(sample.Gap{
				Source: "blockio",
				Why: fmt.Sprintf("%s: %s completed without an issue time, and the queue time counts as device time",
					e.Device, sample.Counted(d.Untimed, "request")),
			})
		}
	})
	err = errors.Join(err, bpf.Each(p.probe.Map("depths"), func(k blockioDepthKey, d blockioDepthIo) {
		e := sample.Entity{Device: p.lookup.Disk(k.Dev), Class: depthClass(k)}
		into.PutTotal(sample.BlockDepthOps, e, float64(d.Ops), fromComplete)
		into.PutTotal(sample.BlockDepthTime, e, float64(d.Ns)/1e9, fromComplete)
		if d.AloneOps > 0 {
			e.Class = fmt.Sprintf("%s %d", opName(k.Op), uint64(1)<<(k.SizeSlot&63))
			into.PutTotal(sample.BlockAloneOps, e, float64(d.AloneOps), fromComplete)
			into.PutTotal(sample.BlockAloneTime, e, float64(d.AloneNs)/1e9, fromComplete)
		}
	}))
	err = errors.Join(err, bpf.Each(p.probe.Map("histograms"), func(k blockioHistKey, h blockioHists) {
		e := sample.Entity{Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}
		into.PutHistogram(sample.HistQueue, e, histogram("nanoseconds", &h.Queue, h.QueueSum), fromComplete)
		into.PutHistogram(sample.HistDevice, e, histogram("nanoseconds", &h.Device, h.DeviceSum), fromComplete)
		into.PutHistogram(sample.HistSize, e, histogram("bytes", &h.Size, h.SizeSum), fromComplete)
	}))
	if err != nil {
		return fmt.Errorf("reading block I/O by device: %w", err)
	}
	return nil
}

// depthClass labels latency by operation, size and depth at arrival, both
// rounded down to a power of two: "read 4096 8".
func depthClass(k blockioDepthKey) string {
	return fmt.Sprintf("%s %d %d", opName(k.Op), uint64(1)<<(k.SizeSlot&63), uint64(1)<<(k.DepthSlot&63))
}

func histogram(unit string, counts *[48]uint64, sum uint64) sample.Histogram {
	return sample.Histogram{Unit: unit, Counts: *counts, Sum: float64(sum)}
}
