package cgroup

import (
	"bytes"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// The metrics and limit classes of a device's figures.
var (
	ioMetric = [figures]sample.Metric{sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites}
	ioClass  = [figures]string{sample.ClassReadBytes, sample.ClassWriteBytes, sample.ClassReads, sample.ClassWrites}
	// What io.cost charges and holds back is of a cgroup and all below it.
	costMetric = [costs]sample.Metric{sample.CgroupIOCost, sample.CgroupIOCostWait}
	v1IO       = [figures]string{
		"blkio.throttle.io_service_bytes", "blkio.throttle.io_service_bytes",
		"blkio.throttle.io_serviced", "blkio.throttle.io_serviced",
	}
	v1Limit = [figures]string{
		"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
		"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device",
	}
)

// place is a device of a cgroup: the cgroup's place in the list.
type place struct {
	group  int
	device string
}

// account is what a cgroup did on a device during the window.
type account struct {
	rise    [figures]uint64
	rose    [figures]bool
	limited bool
	counted bool // the kernel has figures of it
}

// collectIO emits what each cgroup itself did, without those below it, so that
// a subtree's I/O is the sum of its cgroups. Version 1 counts that way.
// Version 2 counts a cgroup and all below it, from which those below are
// taken away; what a removed one did stays with the cgroup above. Figures of
// a device are emitted where there is activity or a limit.
//
// Version 1 does not know whose buffered writes are written back (they are
// the top cgroup's), and newer kernels count only on devices that have had a
// limit: no figure does not mean no I/O there.
func (s *source) collectIO(groups []group, phase sample.Phase, into sample.Sink) {
	did := map[place]*account{}
	for i, g := range groups {
		usage, limits := devices{}, devices{}
		if s.trees[blockIO].V2 {
			s.readV2(g, usage, limits, into)
		} else {
			s.readV1(g, usage, limits)
		}
		s.step(i, g, phase, into, usage, did)
		for dev, l := range limits {
			name := s.disk(dev)
			for f := range figures {
				if !l.Known[f] {
					continue
				}
				into.Put(sample.CgroupIOLimit, sample.Entity{Cgroup: g.path, Device: name, Class: ioClass[f]}, float64(l.Value[f]), s.limitFile(f))
				at(did, place{i, name}).limited = true
			}
		}
	}
	if phase == sample.First {
		return
	}
	own := did
	if s.trees[blockIO].V2 {
		own = withoutBelow(groups, did)
	}
	told := map[string]bool{}
	for p, a := range own {
		if s.emitIO(groups[p.group].path, p.device, a, into) && !told[p.device] {
			told[p.device] = true
			s.emitBelow(p.device, into)
		}
	}
}

// emitBelow tells what a device lies on: what is done on it may be counted there again.
func (s *source) emitBelow(device string, into sample.Sink) {
	if s.devices == nil {
		return
	}
	for _, disk := range s.host.DisksBelow(device, s.devices) {
		into.Put(sample.CgroupDeviceOn, sample.Entity{Device: device, Class: disk}, 1, "/sys/block/"+device+"/slaves")
	}
}

func at(did map[place]*account, p place) *account {
	a := did[p]
	if a == nil {
		a = &account{}
		did[p] = a
	}
	return a
}

// step compares the figures with those of the start.
func (s *source) step(i int, g group, phase sample.Phase, into sample.Sink, usage devices, did map[place]*account) {
	for dev, x := range usage {
		name := s.disk(dev)
		a := at(did, place{i, name})
		e := sample.Entity{Cgroup: g.path, Device: name}
		for f := range figures {
			if !x.Known[f] {
				continue
			}
			from := v1IO[f]
			if s.trees[blockIO].V2 {
				from = "io.stat"
			}
			a.counted = true
			if rise, rose := s.rise(g, phase, into, blockIO, ioMetric[f], e, x.Value[f], from); rose {
				a.rise[f], a.rose[f] = rise, true
			}
		}
		for i, m := range costMetric {
			if now := x.Cost[i]; now == nil {
				continue
			} else if rise, rose := s.rise(g, phase, into, blockIO, m, e, *now, "io.stat"); rose {
				into.Put(m, e, float64(rise)/1e6, "io.stat")
			}
		}
	}
}

// withoutBelow takes from each account what the cgroups right below did. The
// files are read one after the other, so a little may be missing above.
func withoutBelow(groups []group, did map[place]*account) map[place]*account {
	own := map[place]*account{}
	for p, a := range did {
		x := *a
		own[p] = &x
	}
	for p, a := range did {
		above := own[place{groups[p.group].parent, p.device}]
		if above == nil {
			continue
		}
		for f := range figures {
			above.rise[f] -= min(above.rise[f], a.rise[f])
		}
	}
	return own
}

// emitIO tells whether there was anything to emit.
func (s *source) emitIO(cgroup, device string, a *account, into sample.Sink) bool {
	active := a.limited
	for _, r := range a.rise {
		active = active || r > 0
	}
	if !active {
		return false
	}
	for f := range figures {
		// A device with a limit and without figures did nothing yet.
		if !a.rose[f] && a.counted {
			continue
		}
		from := v1IO[f]
		if s.trees[blockIO].V2 {
			from = "io.stat"
		}
		into.Put(ioMetric[f], sample.Entity{Cgroup: cgroup, Device: device}, float64(a.rise[f]), from)
	}
	return true
}

func (s *source) limitFile(f int) string {
	if s.trees[blockIO].V2 {
		return "io.max"
	}
	return v1Limit[f]
}

func (s *source) readV1(g group, usage, limits devices) {
	const served, moved = reads, readBytes
	b, ok := s.read(g, v1IO[served])
	if ok {
		s.fault(g, v1IO[served], parseV1IO(b, served, usage))
	}
	if k := g.kept; ok && k != nil && k.moved != nil && bytes.Equal(b, k.served) {
		s.fault(g, v1IO[moved], parseV1IO(k.moved, moved, usage))
	} else {
		if k != nil {
			k.served, k.moved = append(k.served[:0], b...), nil
		}
		if b, ok = s.read(g, v1IO[moved]); ok {
			s.fault(g, v1IO[moved], parseV1IO(b, moved, usage))
			if k != nil {
				k.moved = bytes.Clone(b)
			}
		}
	}
	for f, name := range v1Limit {
		if b, _, ok := s.setting(g, name); ok {
			s.fault(g, name, parseV1Limit(b, f, limits))
		}
	}
}

func (s *source) readV2(g group, usage, limits devices, into sample.Sink) {
	if b, ok := s.read(g, "io.stat"); ok {
		s.fault(g, "io.stat", parseV2IO(b, usage))
	}
	if b, _, ok := s.setting(g, "io.max"); ok {
		s.fault(g, "io.max", parseV2IO(b, limits))
		s.readTargets(g, into)
	}
}

// readTargets emits io.latency's targets. A kernel built without it has no such file.
func (s *source) readTargets(g group, into sample.Sink) {
	const name = "io.latency"
	if s.noTargets {
		return
	}
	b, _, ok := s.setting(g, name)
	if !ok {
		s.noTargets = true
		return
	}
	targets, err := parseTargets(b)
	s.fault(g, name, err)
	for dev, us := range targets {
		into.Put(sample.CgroupIOTarget, sample.Entity{Cgroup: g.path, Device: s.disk(dev)}, float64(us)/1e6, name)
	}
}

// disk names a device; one that is not known even after another look keeps
// its number.
func (s *source) disk(dev host.DevNumber) string {
	name, ok := s.devices.Disk(dev)
	if !ok && !s.asked {
		s.asked = true
		s.devices, _ = s.host.Devices()
		name, ok = s.devices.Disk(dev)
	}
	if !ok {
		return dev.String()
	}
	return name
}
