package figure

import "iocause/internal/sample"

// CgroupIO is what each cgroup did in a window, of one of the figures that are told of
// a cgroup and a device, without counting what a stack of devices hands on again.
//
// What is handed on is charged below as well where the layer clones bios (LVM). Where
// it hands on the same one (RAID 0) its bytes count at the top alone, and where a thread
// of the layer sends what is below (writes of dm-crypt, RAID 5) that is charged to no
// cgroup. So of devices that lie on one another it is what was done at their tops, or
// at the disks: whichever is more.
func CgroupIO(w *sample.Window, m sample.Metric) map[string]float64 {
	type place struct{ cgroup, stack string }
	stacks := stacksOf(w)
	did := map[place]struct{ top, disks float64 }{}
	w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.Cgroup == "" || e.PID != 0 {
			return
		}
		at := place{e.Cgroup, stacks.of(e.Device)}
		x := did[at]
		if !stacks.carries[e.Device] {
			x.top += s.Sum()
		}
		if !stacks.lies[e.Device] {
			x.disks += s.Sum()
		}
		did[at] = x
	})
	sums := map[string]float64{}
	for at, x := range did {
		sums[at.cgroup] += max(x.top, x.disks)
	}
	return sums
}

// stacks are devices that lie on one another.
type stacks struct {
	joined        map[string]string // to another one of the same stack
	carries, lies map[string]bool
}

func stacksOf(w *sample.Window) stacks {
	s := stacks{joined: map[string]string{}, carries: map[string]bool{}, lies: map[string]bool{}}
	w.Each(sample.CgroupDeviceOn, func(e sample.Entity, _ *sample.Series) {
		s.lies[e.Device], s.carries[e.Class] = true, true
		if above, below := s.of(e.Device), s.of(e.Class); above != below {
			s.joined[above] = below
		}
	})
	return s
}

// of is the device that stands for the stack of a device.
func (s *stacks) of(device string) string {
	for s.joined[device] != "" {
		device = s.joined[device]
	}
	return device
}
