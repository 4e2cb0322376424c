package burst

import (
	"slices"
	"strings"

	"iocause/internal/source/probe/burst"
)

// Filter narrows milliseconds to what some processes or cgroups asked for:
// bursts are then those of their I/O alone. All that is given must hold.
type Filter struct {
	PIDs                 []int
	Comm, Cgroup, Device string // "" for any
}

// byOwner tells whether owners are chosen at all.
func (f *Filter) byOwner() bool {
	return len(f.PIDs) > 0 || f.Comm != "" || f.Cgroup != ""
}

func (f *Filter) owner(o *burst.Owner) bool {
	return (len(f.PIDs) == 0 || slices.Contains(f.PIDs, o.PID)) && (f.Comm == "" || f.Comm == o.Comm) &&
		(f.Cgroup == "" || o.Cgroup != "" && (o.Cgroup == f.Cgroup || strings.HasPrefix(o.Cgroup, strings.TrimSuffix(f.Cgroup, "/")+"/")))
}

// keep leaves in a bin what is asked for. It is false where that is nothing.
// What the disk completed stays: the latency is the disk's, whoever asks. beyond
// are requests of owners that the millisecond had no room to name: whether they
// are asked for is not known.
func (f *Filter) keep(b *burst.Bin) (keep bool, beyond uint64) {
	if f.Device != "" && b.Disk != f.Device {
		return false, 0
	}
	if !f.byOwner() {
		return true, 0
	}
	var named uint64
	for i := range b.Owners {
		named += b.Owners[i].Ops
	}
	beyond = b.Ops - min(named, b.Ops)
	b.Owners = slices.DeleteFunc(b.Owners, func(o burst.Owner) bool { return !f.owner(&o) })
	b.Ops, b.Bytes = 0, 0
	for _, o := range b.Owners {
		b.Ops, b.Bytes = b.Ops+o.Ops, b.Bytes+o.Bytes
	}
	return b.Ops+b.Bytes+b.Done > 0, beyond
}
