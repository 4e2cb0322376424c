package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/source/probe/burst"
)

// burstRefuses are filters without an answer: files stay in the kernel.
func burstRefuses() []noAnswer {
	return []noAnswer{{flags: []string{"file"}, why: "milliseconds are kept by process and cgroup, not by file",
		instead: "use 'iocause trace --file', which sees every I/O"}}
}

// burstFilter narrows milliseconds to what some processes or cgroups asked
// for: bursts are then those of their I/O alone.
type burstFilter struct {
	target diagnose.Target
	// beyond are requests of owners that a millisecond had no room to name:
	// whether they are asked for is not known.
	beyond uint64
}

func (a *app) newBurstFilter(c *cobra.Command, f *filter) (b burstFilter, err error) {
	if err = refused(c, burstRefuses(), ""); err == nil {
		b.target, err = f.target(a.host, f.given(c))
	}
	return b, err
}

// byOwner tells whether owners are chosen at all.
func (f *burstFilter) byOwner() bool {
	return len(f.target.PIDs) > 0 || f.target.Comm != "" || f.target.Cgroup != ""
}

func (f *burstFilter) owner(o *burst.Owner) bool {
	t := &f.target
	return (len(t.PIDs) == 0 || slices.Contains(t.PIDs, o.PID)) && (t.Comm == "" || t.Comm == o.Comm) &&
		(t.Cgroup == "" || o.Cgroup != "" && (o.Cgroup == t.Cgroup || strings.HasPrefix(o.Cgroup, strings.TrimSuffix(t.Cgroup, "/")+"/")))
}

// keep leaves in a bin what is asked for. It is false where that is nothing.
// What the disk completed stays: the latency is the disk's, whoever asks.
func (f *burstFilter) keep(b *burst.Bin) bool {
	if f.target.Device != "" && b.Disk != f.target.Device {
		return false
	}
	if !f.byOwner() {
		return true
	}
	var named uint64
	for i := range b.Owners {
		named += b.Owners[i].Ops
	}
	f.beyond += b.Ops - min(named, b.Ops)
	b.Owners = slices.DeleteFunc(b.Owners, func(o burst.Owner) bool { return !f.owner(&o) })
	b.Ops, b.Bytes = 0, 0
	for _, o := range b.Owners {
		b.Ops, b.Bytes = b.Ops+o.Ops, b.Bytes+o.Bytes
	}
	return b.Ops+b.Bytes+b.Done > 0
}
