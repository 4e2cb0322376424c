package cgroup

import (
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// resources are what version 2 accounts pressure of, in a file of each cgroup.
var resources = [...]string{sample.ClassCPU, sample.ClassIO, sample.ClassMemory}

// pressed tells whether cgroups have the pressure of their own: in version 2, and
// not the top one, whose pressure is the host's (/proc/pressure).
func (s *source) pressed(g group) bool { return s.trees[memory].V2 && g.parent >= 0 }

// collectPressure reads how long threads of one cgroup, and of those below it,
// waited for a resource. A kernel without PSI has no such file.
func (s *source) collectPressure(g group, phase sample.Phase, into sample.Sink) {
	for _, class := range resources {
		name := class + ".pressure"
		b, ok := s.read(g, name)
		if !ok {
			continue
		}
		p, err := procfile.ParsePressure(b)
		if !s.fault(g, name, err) {
			continue
		}
		e := sample.Entity{Cgroup: g.path, Class: class}
		for _, x := range [...]struct {
			metric sample.Metric
			us     *uint64
		}{{sample.CgroupPSISome, p.Some}, {sample.CgroupPSIFull, p.Full}} {
			if x.us == nil {
				continue
			}
			if rise, rose := s.rise(g, phase, into, memory, x.metric, e, *x.us, name); rose {
				into.Put(x.metric, e, float64(rise)/1e6, name)
			}
		}
	}
}
