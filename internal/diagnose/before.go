package diagnose

import (
	"slices"

	"iocause/internal/sample"
)

// slower is how many times as long the same must take for somebody to be told
// that it became slower. One machine's figures vary by some tens of percents from
// one hour to the next; by half as much again they do not.
const slower = 1.5

// leastWork is what a program must have read and written on both sides, in
// bytes, for its waiting to be set against it.
const leastWork = 1 << 20

// nothingToCompare is what is missing where only one window is known.
const nothingToCompare = "no baseline to compare with; name a recording of a good time or of another host with --against FILE"

// Before is what a window is compared with: the same machine at a better time,
// or another machine.
type Before struct {
	Window  *sample.Window
	Target  Target    // the same question asked there; the zero value: processes with the victim's name
	Differ  []Setting // in which the two machines differ
	Unknown string    // why the settings of one are not known, "" when they are
}

// Setting is one setting that two machines, or one at two times, do not share.
// "" is absent.
type Setting struct {
	Name   string // path in the fingerprint: "vm.dirty_ratio", "devices[vda].scheduler"
	Device string // the disk that it belongs to, "" for none
	Before string
	Now    string
}

// newCaseAgainst is a case that knows another window.
func newCaseAgainst(w *sample.Window, target Target, before *Before) *Case {
	c := newCase(w, target)
	if before == nil {
		return c
	}
	if !c.narrowed() && !w.Told {
		c.lookAt(c.harmed(before.Window))
	}
	t := before.Target
	if len(t.PIDs) == 0 && t.Comm+t.Cgroup+t.Device == "" {
		t.Comm = c.victim.process.Comm
	}
	c.before, c.was = before, newCase(before.Window, t)
	return c
}

// named tells whether the question names processes, by id, name or cgroup.
func (t *Target) named() bool { return len(t.PIDs) > 0 || t.Comm+t.Cgroup != "" }

// pace is how long programs wait for what they read and write.
type pace struct{ bytes, waiting float64 }

// pace is that of the processes asked about, or where all are, of those with the
// victim's name.
func (c *Case) pace() pace {
	if c.target.named() {
		return c.paceOf(func(pid int, _ string) bool { return c.selects(pid) })
	}
	return c.paceOf(func(_ int, comm string) bool { return comm == c.victim.process.Comm })
}

func (c *Case) paceOf(wanted func(pid int, comm string) bool) pace {
	var p pace
	for pid, process := range c.w.Processes {
		if !wanted(pid, process.Comm) {
			continue
		}
		e := sample.Entity{PID: pid}
		sum := func(m sample.Metric) float64 { v, _ := c.w.Sum(m, e); return v }
		// what io_uring does is in the second account only; what a program
		// reads of its mappings nobody counts
		p.bytes += max(sum(sample.ProcReadChars)+sum(sample.ProcWriteChars),
			(sum(sample.CacheAccesses)+sum(sample.CacheDirtied))*pageSize+c.direct(pid))
		v := c.measure(pid)
		if t := v.waitIO(); t > 0 {
			p.waiting += t
		} else {
			p.waiting += v.outstanding * c.w.Seconds() // reads ahead, or asynchronously
		}
	}
	return p
}

// harmed is the process that waits most of those whose programs were there at the
// better time, and wait longer for the same now: who is new may wait longest, as a
// backup does with many threads, and yet not be who the machine is for. Where there
// is none, it is the one that waits most of all.
func (c *Case) harmed(better *sample.Window) victim {
	was, seen := &Case{w: better}, map[string]bool{}
	for i := range c.asked {
		v := &c.asked[i]
		if c.notable(v) == 0 {
			break
		}
		if seen[v.process.Comm] { // the pace is that of all of the name
			continue
		}
		seen[v.process.Comm] = true
		same := func(_ int, comm string) bool { return comm == v.process.Comm }
		then, now := was.paceOf(same), c.paceOf(same)
		if then.bytes >= leastWork && now.waiting*then.bytes >= slower*then.waiting*now.bytes {
			return *v
		}
	}
	return c.victim
}

// holding are the causes that hold and matter, without those that compare.
func (c *Case) holding() []ID {
	var out []ID
	for _, cause := range List() {
		if cause.Compares {
			continue
		}
		if v := cause.Judge(c); v.Answer == Yes && v.Weight >= weightLimit {
			out = append(out, cause.ID)
		}
	}
	return out
}

// fresh are the causes that hold now and did not before, without those that are
// only how a slower device or kernel looks.
func (c *Case) fresh() []ID {
	old := append(c.was.holding(), deviceCauses()...)
	old = append(old, SyncWrites, CPUBound, SmallIO)
	return slices.DeleteFunc(c.holding(), func(id ID) bool { return slices.Contains(old, id) })
}

// uncompared is the verdict of a cause that compares, where nobody asks for one
// or there is nothing to compare with.
func (c *Case) uncompared() (v Verdict, out bool) {
	switch {
	case !c.suffers():
		return no("no program waits for I/O long enough to matter"), true
	case c.w.Told:
		return no("pasted output covers one interval, so there is nothing to compare"), true
	case c.before == nil:
		return cannotTell(nothingToCompare), true
	}
	return Verdict{}, false
}
