package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Shares of the wall time from which on waiting counts as suffering.
const (
	waitShareLimit   = 0.10 // of a waiting thread's time
	outstandingLimit = 0.50 // mean requests in flight of a process that reads ahead or asynchronously
	cpuShareLimit    = 0.85 // of one processor
)

// Case is a window seen from the victim: the process that waits most, or where
// better times are known, see harmed.
type Case struct {
	w       *sample.Window
	target  Target
	asked   []victim                             // those asked about, who waits most first
	victim  victim                               // the first of them, unless another one is looked at
	front   Culprit                              // who waits for the victim, where that is a FUSE daemon that waits itself; see lookBehind
	device  string                               // the one the victim's I/O goes to, "" when none
	lies    map[sample.FileID]map[string]float64 // see homes; nil until it is asked for
	longest float64                              // the largest share of time that a process asked about waits for I/O, 0 to 1

	stand map[int]group  // what one stands for; see groups.go
	paced map[int]string // who waits in the pipeline that a process is the slowest of; see pipes.go

	before *Before // nil where there is nothing to compare with
	was    *Case   // of that window; nil likewise
}

// victim is what is known of the process that waits most. Like processes that
// only wait together are one; see groups.go.
type victim struct {
	pid         int
	process     sample.Process
	group                          // that it stands for
	wait        map[string]float64 // seconds blocked, by what it waits in
	waitTotal   float64            // of these, all
	waits       map[string]float64 // seconds blocked, by what for; nil where that is not known
	pause       float64            // seconds paused by dirty throttling
	threads     float64            // that waited, if only once
	spans       *spans             // nil where each thread's waiting was not accounted
	async       float64            // of wait: asleep while I/O that was submitted before was in flight
	outstanding float64            // mean requests in flight
	cpu         float64            // seconds on a processor
	user        float64            // of these, in the program itself
	system      float64            // of these, in the kernel
	delay       float64            // seconds waiting for one
	stall       float64            // seconds in direct reclaim and compaction
	stallers    float64            // threads that stalled there
	lock        float64            // seconds waiting for locks
	futex       float64            // of these, for locks of the program
	shared      float64            // of these, for locks that another process may hold
	lockers     float64            // threads that waited for locks
	known       bool               // waits were measured
}

func newCase(w *sample.Window, target Target) *Case {
	c := &Case{w: w, target: target}
	pids := map[int]bool{}
	for _, m := range []sample.Metric{
		sample.WaitIO, sample.WaitDirtyPause, sample.BlockOps, sample.ProcUser, sample.ProcReadBytes,
		sample.ProcBlkioDelay, sample.BlockDirect, sample.CacheAccesses, sample.ReclaimTime, sample.CompactTime,
		sample.LockWait, sample.CallTime,
	} {
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.PID != 0 {
				pids[e.PID] = true
			}
		})
	}
	for pid := range pids {
		if c.selects(pid) {
			c.asked = append(c.asked, c.measure(pid))
		}
	}
	c.followPipes()
	c.sumLikeProcesses()
	slices.SortFunc(c.asked, func(a, b victim) int {
		return cmp.Or(cmp.Compare(c.notable(&b), c.notable(&a)), cmp.Compare(c.queueing(&b), c.queueing(&a)),
			cmp.Compare(b.runnable(), a.runnable()), cmp.Compare(a.pid, b.pid))
	})
	var first victim
	if len(c.asked) > 0 {
		first = c.asked[0]
	}
	c.lookAt(first)
	c.lookBehind()
	c.longest = c.victim.share(w.Seconds())
	for i := range c.asked {
		c.longest = max(c.longest, c.asked[i].share(w.Seconds()))
	}
	return c
}

// lookAt makes a process the victim.
func (c *Case) lookAt(v victim) {
	c.victim, c.front = v, Culprit{}
	c.tellVictim()
	c.device = c.mainDevice()
}

// selects tells whether a process is among those the question is about.
func (c *Case) selects(pid int) bool {
	p := c.w.Processes[pid]
	t := &c.target
	switch {
	case len(t.PIDs) > 0:
		return slices.Contains(t.PIDs, pid)
	case t.Comm != "":
		return p.Comm == t.Comm
	case t.Cgroup != "":
		return inCgroup(p.MemoryCgroup, t.Cgroup) || inCgroup(p.IOCgroup, t.Cgroup)
	case t.Device != "":
		return c.blockTime(func(e sample.Entity) bool { return e.PID == pid && e.Device == t.Device }) > 0
	}
	return !p.Kernel
}

func inCgroup(path, top string) bool {
	top = strings.TrimSuffix(top, "/")
	return path == top || strings.HasPrefix(path, top+"/")
}

// measure adds up one process. Without the probe's account of waits it falls
// back to the delay account of the kernel.
func (c *Case) measure(pid int) victim {
	w := c.w
	v := victim{pid: pid, process: w.Processes[pid], group: c.stand[pid], wait: map[string]float64{}, known: w.Has(sample.WaitIO)}
	for _, class := range []string{sample.ClassRead, sample.ClassWrite, sample.ClassSync, sample.ClassFault, sample.ClassAsync, sample.ClassOther} {
		if s, ok := w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: class}); ok {
			v.wait[class] = s
			v.waitTotal += s
		}
	}
	v.pause, _ = w.Sum(sample.WaitDirtyPause, sample.Entity{PID: pid})
	v.threads, _ = w.Value(sample.WaitThreads, sample.Entity{PID: pid})
	v.waits = c.waitedFor(pid)
	for _, e := range []sample.Entity{{PID: pid, Class: sample.ClassHost}, {PID: pid, Class: sample.ClassCgroup}} {
		t, _ := w.Sum(sample.ReclaimTime, e)
		v.stall += t
	}
	compacted, _ := w.Sum(sample.CompactTime, sample.Entity{PID: pid})
	v.stall += compacted
	v.stallers, _ = w.Value(sample.ReclaimThreads, sample.Entity{PID: pid})
	c.measureLocks(&v)
	if !v.known {
		if d, ok := w.Sum(sample.ProcBlkioDelay, sample.Entity{PID: pid}); ok {
			v.wait[sample.ClassOther], v.waitTotal, v.known = d, d, true
		}
	}
	v.outstanding = c.blockTime(func(e sample.Entity) bool {
		return e.PID == pid && (e.Class == sample.ClassRead || v.waitTotal == 0 && c.direct(pid) > 0)
	}) / w.Seconds()
	user, _ := w.Sum(sample.ProcUser, sample.Entity{PID: pid})
	system, _ := w.Sum(sample.ProcSystem, sample.Entity{PID: pid})
	v.user, v.system, v.cpu = user, system, user+system
	v.delay, _ = w.Sum(sample.ProcRunDelay, sample.Entity{PID: pid})
	v.spans = c.spansOf(&v)
	c.measureCompletions(&v)
	c.tell(&v)
	return v
}

// notable is the suffering, the stalling for want of memory or the waiting for
// locks, where it is enough to matter, else 0. Who waits for I/O or memory comes
// before all who only wait for locks: that is what the question is about.
func (c *Case) notable(v *victim) float64 {
	s := max(c.suffering(v), v.stalled(c.w.Seconds()))
	if s < waitShareLimit {
		s = 0
	}
	return max(s, waitShareLimit*c.contended(v))
}

// suffers tells whether I/O holds the victim up enough to look for a cause.
func (c *Case) suffers() bool {
	return (c.victim.pid != 0 || c.w.Told) && c.suffering(&c.victim) >= waitShareLimit
}

// held tells whether the victim is held up enough to look for a cause, by I/O,
// for want of memory or by locks.
func (c *Case) held() bool {
	return (c.victim.pid != 0 || c.w.Told) && c.notable(&c.victim) > 0
}

// narrowed tells whether the question is about less than the whole host.
func (c *Case) narrowed() bool {
	t := &c.target
	return len(t.PIDs) > 0 || t.Comm != "" || t.Cgroup != "" || t.Device != ""
}

// blind tells whether it is not known how long each task waits: then "healthy"
// would be a guess. The pressure of the host does not say (see calm.go).
func (c *Case) blind() bool {
	if c.w.Told {
		return c.toldBlind()
	}
	if c.target.Device != "" && !c.w.Has(sample.BlockOps) {
		return true // who uses the device is not known
	}
	return !c.tasksKnown()
}

// matters tells whether a gap takes anything away. The kernel's delay account
// only stands in for the probe's account of waits.
func (c *Case) matters(g *sample.Gap) bool {
	for _, m := range g.Metrics {
		if m != sample.ProcBlkioDelay && m != sample.ProcBlocked || !c.w.Has(sample.WaitIO) {
			return true
		}
	}
	return len(g.Metrics) == 0
}

// blockTime is the time, in seconds summed over requests, that the selected
// I/O spent in the block layer and on the device.
func (c *Case) blockTime(keep func(sample.Entity) bool) float64 {
	q, _ := c.w.SumWhere(sample.BlockQueueTime, keep)
	d, _ := c.w.SumWhere(sample.BlockDeviceTime, keep)
	return q + d
}

// direct is the bytes that a process read or wrote with O_DIRECT.
func (c *Case) direct(pid int) float64 {
	e := sample.Entity{PID: pid}
	r, _ := c.w.Sum(sample.BlockDirect, e)
	wr, _ := c.w.Sum(sample.DirectWriteByte, e)
	return r + wr
}

// mainDevice is the device that the victim's I/O spends most time on; when
// its I/O is made by others in its name, the host's busiest.
func (c *Case) mainDevice() string {
	if c.target.Device != "" {
		return c.target.Device
	}
	pick := func(keep func(sample.Entity) bool) string {
		by := map[string]float64{}
		for _, m := range []sample.Metric{sample.BlockQueueTime, sample.BlockDeviceTime} {
			c.w.Each(m, func(e sample.Entity, s *sample.Series) {
				if e.Device != "" && keep(e) {
					by[e.Device] += s.Sum()
				}
			})
		}
		return largest(by)
	}
	if d := pick(func(e sample.Entity) bool { return e.PID == c.victim.pid && e.PID != 0 }); d != "" {
		return d
	}
	if cg := c.victim.process.IOCgroup; cg != "" && cg != "/" {
		if d := pick(func(e sample.Entity) bool { return e.Cgroup == cg }); d != "" {
			return d
		}
	}
	if d := pick(func(e sample.Entity) bool { return e.PID == 0 && e.Cgroup == "" }); d != "" {
		return d
	}
	m := sample.DiskBusy
	if c.w.Told && !c.w.Has(m) {
		m = sample.DiskReadBytes
	}
	for _, d := range figure.Busiest(c.w, m) {
		return d
	}
	return ""
}

func largest(by map[string]float64) string {
	best, most := "", 0.0
	for k, v := range by {
		if v > most || v == most && v > 0 && k < best {
			best, most = k, v
		}
	}
	return best
}

// victimCulprit names the victim, for people.
func (c *Case) victimCulprit() Culprit {
	if c.victim.pid == 0 && !c.w.Told {
		return Culprit{}
	}
	k := Culprit{
		PID: c.victim.pid, Comm: c.victim.process.Comm, Processes: c.victim.several,
		Cgroup: c.victim.process.MemoryCgroup, Device: c.device,
	}
	if c.victim.lock > 0 && c.victim.waitIO() == 0 && c.target.Device == "" {
		k.Device = "" // it waits for no device: that one is only the host's busiest
	}
	return k
}

// atProcessor is the victim where it waits for a processor or computes: for no device.
func (c *Case) atProcessor() Culprit {
	k := c.victimCulprit()
	k.Device = ""
	return k
}

// culprit is the victim's own doing, on its busiest file.
func (c *Case) culprit() Culprit {
	k := c.victimCulprit()
	c.at(&k, c.topFile("", c.usual()...))
	return k
}

// usual is by what a process's busiest file is found: what it waits for, what it
// had from disk, what it wrote. For who waits to write, what it wrote comes first: it
// is not slow for the library that its start has read.
func (c *Case) usual() []sample.Metric {
	reads := []sample.Metric{sample.CacheWait, sample.CacheMisses, sample.CacheMappedMisses, sample.DirectReadBytes, sample.CacheInserted}
	writes := []sample.Metric{sample.CacheDirtied, sample.DirectWriteByte}
	if v := &c.victim; 2*(v.wait[sample.ClassWrite]+v.wait[sample.ClassSync]+v.pause) > v.waitTotal+v.pause {
		return append(writes, reads...)
	}
	return append(reads, writes...)
}

// of is a counter of the victim's over the window, 0 when it has none.
func (c *Case) of(m sample.Metric) float64 {
	v, _ := c.w.Sum(m, sample.Entity{PID: c.victim.pid})
	return v
}

// all is a counter of the host's over the window.
func (c *Case) all(m sample.Metric) (float64, bool) { return c.w.Sum(m, sample.Entity{}) }

// gauge is a value of the host's at the end of the window.
func (c *Case) gauge(m sample.Metric) (float64, bool) { return c.w.Value(m, sample.Entity{}) }

// figure makes evidence of a value read through a metric.
func (c *Case) figure(name string, value float64, unit string, from sample.Metric) Evidence {
	return Evidence{ID: idOf(name), Name: name, Value: value, Unit: unit, Source: c.sourceOf(from)}
}

// partOf is figure for a part of a thread's time. Where the number of threads could not
// be read, the time is of all of them together: then it is how many there were at
// any time, on average.
func (c *Case) partOf(name string, share float64, from sample.Metric) Evidence {
	if share > 1 {
		return c.figure(name+", threads on average", share, "count", from).as(idOf(name))
	}
	return c.figure(name, share, "ratio", from)
}

// figureOf is figure where it is known whose value it is.
func (c *Case) figureOf(name string, value float64, unit string, from sample.Metric, of sample.Entity) Evidence {
	if s := c.w.Get(from, of); s != nil {
		return Evidence{ID: idOf(name), Name: name, Value: value, Unit: unit, Source: s.Source}
	}
	return c.figure(name, value, unit, from)
}

// sourceOf is where a metric was read, or, in a text, what stands in for it.
func (c *Case) sourceOf(m sample.Metric) string {
	if c.w.Told {
		if at := c.toldOn(m); at != "" {
			return at
		}
		return c.toldSource(m)
	}
	if from := c.nearest(m); from != "" {
		return from
	}
	return c.w.Source(m)
}

// nearest is where a metric was read of the victim, its device, its cgroups or the
// host, "" where it was read of none of these. Most metrics are read in one place
// for all; files of devices and cgroups are not.
func (c *Case) nearest(m sample.Metric) string {
	best, from := 0, ""
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		p, rank := &c.victim.process, 0
		switch {
		case e.PID != 0 && e.PID == c.victim.pid:
			rank = 4
		case e.PID == 0 && e.Device != "" && e.Device == c.device:
			rank = 3
		case e.PID == 0 && e.Cgroup != "" && (inCgroup(p.MemoryCgroup, e.Cgroup) || inCgroup(p.IOCgroup, e.Cgroup) || inCgroup(p.CPUCgroup, e.Cgroup)):
			rank = 2
		case e == (sample.Entity{Class: e.Class}):
			rank = 1
		}
		if rank > best || rank == best && rank > 0 && s.Source < from {
			best, from = rank, s.Source
		}
	})
	return from
}
