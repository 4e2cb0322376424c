package diagnose

import (
	"fmt"
	"math"
	"math/bits"

	"iocause/internal/sample"
)

// othersLimit is the share of all bytes from which on a text's one other program
// is in the way of who waits: how long requests take alone no text tells.
const othersLimit = 0.50

// load is what somebody asks of a device. time is the seconds that the requests
// spend in the block layer and on the device, summed, and so in proportion to how
// many are in flight.
type load struct{ time, bytes, ops float64 }

func (l *load) add(o load) { l.time, l.bytes, l.ops = l.time+o.time, l.bytes+o.bytes, l.ops+o.ops }

// part is how much of all a load is, 0 to 1: of its bytes and of its time, which
// are seldom the same, half each.
func (l *load) part(of *load) float64 {
	return (l.bytes/max(of.bytes, 1) + l.time/max(of.time, 1e-9)) / 2
}

// sharing is how a device was shared during the window.
type sharing struct {
	why      string  // why nothing can be said, or nobody else is to blame; "" when somebody may be
	missing  bool    // why is what is missing
	own      load    // the victim's
	others   load    // everybody else's, the flusher's included
	flusher  load    // what the kernel writes back from the page cache
	rivals   load    // all others but the flusher
	rival    int     // the process that does most of the culprit's
	most     load    // the culprit's: of one name, or of one cgroup apart from the victim's
	together int     // processes that the culprit is
	outside  float64 // seconds that the victim waits for requests that have not begun
	ownLatency
}

// ownLatency is how long one request of the victim's takes, on average.
type ownLatency struct {
	ops     float64 // of the victim
	latency float64 // seconds
	queued  float64 // share of that before the device got it
	base    float64 // seconds of such a request that is alone on the device; 0 not known
	bound   bool    // base is only an upper bound of it
	before  bool    // base is that of the window that is compared with
}

// excess is the part of the victim's time on the device that it would not need
// alone, 0 to 1.
func (o *ownLatency) excess() float64 {
	if o.latency == 0 {
		return 0
	}
	if o.base == 0 {
		return o.queued
	}
	return clamp01(max(o.queued, 1-o.base/o.latency))
}

// hands are the processes whose requests count as the victim's: its own, those of
// its program's other processes that do the same, and where it waits for syncs,
// those of the threads that commit for it.
func (c *Case) hands() map[int]bool {
	pids := map[int]bool{c.victim.pid: true}
	loads := c.loads()
	for pid := range loads {
		if pid != c.victim.pid && c.sameProgram(pid) && sameLoad(loads[c.victim.pid], loads[pid]) {
			pids[pid] = true
		}
	}
	if !c.syncs() {
		return pids
	}
	for pid, p := range c.w.Processes {
		if p.Kernel && isJournal(p.Comm) {
			pids[pid] = true
		}
	}
	return pids
}

// sameProgram tells of another process of the victim's program.
func (c *Case) sameProgram(pid int) bool {
	p, v := c.w.Processes[pid], c.victim.process
	return p.Comm == v.Comm && p.IOCgroup == v.IOCgroup && p.MemoryCgroup == v.MemoryCgroup
}

// asMany is up to how many times the requests of one process another one of the
// same program may make, of up to so many times their size, and still do the same:
// two workers are seldom that far apart, and a reader and a copier seldom nearer.
const asMany = 4

// sameLoad tells whether two processes ask the same of the device.
func sameLoad(a, b map[string]load) bool {
	near := func(x, y float64) bool { return x <= asMany*y && y <= asMany*x }
	for _, op := range []string{"read", "write"} {
		x, y := a[op], b[op]
		if !near(x.ops, y.ops) || x.ops > 0 && !near(x.bytes/x.ops, y.bytes/y.ops) {
			return false
		}
	}
	return true
}

// syncs tells of a victim that waits mostly for what it wrote to be on the device.
func (c *Case) syncs() bool {
	return !c.w.Told && 2*c.syncWait() > c.victim.waitTotal+c.victim.pause
}

// ownLatency is the latency of the victim's own requests on its device.
func (c *Case) ownLatency() ownLatency {
	var o ownLatency
	var queue, device float64
	ops := []string{"read", "write"}
	if c.syncs() {
		ops = append(ops, "flush")
	}
	hands := c.hands()
	for _, op := range ops {
		var n, size, q, d float64
		for pid := range hands {
			e := sample.Entity{PID: pid, Device: c.device, Class: op}
			sum := func(m sample.Metric) float64 { v, _ := c.w.Sum(m, e); return v }
			n, size = n+sum(sample.BlockOps), size+sum(sample.BlockBytes)
			q, d = q+sum(sample.BlockQueueTime), d+sum(sample.BlockDeviceTime)
		}
		if n == 0 {
			continue
		}
		o.ops, queue, device = o.ops+n, queue+q, device+d
		base, bound, before := c.baseOf(op, uint64(size/n))
		o.base += n * base
		o.bound, o.before = o.bound || bound, o.before || before
	}
	if o.ops > 0 && queue+device > 0 {
		o.latency, o.base, o.queued = (queue+device)/o.ops, o.base/o.ops, queue/(queue+device)
	}
	return o
}

// baseOf is how long an operation of the victim takes alone; before tells that
// this is of the window that is compared with, since now it is only a bound.
func (c *Case) baseOf(op string, size uint64) (seconds float64, bound, before bool) {
	if op == "flush" {
		return c.flushLatency()
	}
	base, bound := c.aloneLatency(op, size)
	if bound {
		if then := c.aloneBefore(op, size); then > 0 {
			return then, false, true
		}
	}
	return base, bound, false
}

// flushLatency is how long a flush takes when the device has little to write: the
// mean before, or the fastest percent now.
func (c *Case) flushLatency() (seconds float64, bound, before bool) {
	e := sample.Entity{Device: c.device, Class: "flush"}
	if c.comparable() {
		n, _ := c.was.w.Sum(sample.BlockOps, e)
		t, ok := c.was.w.Sum(sample.BlockDeviceTime, e)
		if ok && n >= baseOps {
			return t / n, false, true
		}
	}
	if h := c.w.Histogram(sample.HistDevice, e); h != nil && h.N() >= 100 {
		return h.Quantile(0.01) / 1e9, true, false
	}
	return 0, false, false
}

// blame is the part of the victim's excess that others are to blame for: its own
// requests stand behind one another as well where more than one is in flight.
func (s *sharing) blame(seconds float64) float64 {
	depth := s.own.time / seconds
	all := s.own
	all.add(s.others)
	own := s.own.part(&all) * max(0, 1-1/max(depth, 1e-9))
	other := s.others.part(&all)
	if own+other == 0 {
		return 0
	}
	return other / (own + other)
}

// reach is about the longest that what others do can hold up one request, in
// seconds: what they have in flight when it comes, and what comes after it and is
// served before it, until none of theirs is left. That is the wait of the last in
// line, load x service / (1 - load). Where they always have one in flight a device
// that is not fair may let it wait for ever.
func (s *sharing) reach(seconds float64) float64 {
	if s.others.ops == 0 {
		return 0
	}
	depth := s.others.time / seconds
	if depth >= 1 {
		return math.Inf(1)
	}
	return depth * (s.others.time / s.others.ops) * (1 + 1/(1-depth))
}

// shared finds out who else uses the victim's device, and what that costs the
// victim: how much longer its requests take than alone, if what others do can be
// the reason.
func (c *Case) shared() sharing {
	w := c.w
	var s sharing
	switch {
	case !w.Has(sample.BlockDeviceTime):
		s.why, s.missing = w.WhyAbsent(sample.BlockDeviceTime), true
		return s
	case !c.suffers():
		s.why = "nobody waits for I/O long enough to matter"
		return s
	case c.device == "":
		s.why = "no device did any I/O"
		return s
	}
	c.users(&s)
	s.ownLatency = c.ownLatency()
	if s.latency == 0 || s.own.time == 0 {
		s.why = "the victim has no requests of its own on " + c.device
		return s
	}
	s.outside = c.outside(&s)
	if s.outside > 0 {
		all := s.own.time + s.outside
		s.queued = (s.queued*s.own.time + s.outside) / all
		s.latency = all / s.ops
	}
	need := queueingRatio
	if s.bound {
		need *= 2 // the true base is lower than the bound, but requests differ
	}
	reach, seconds := s.reach(w.Seconds()), w.Seconds()
	less := fmt.Sprintf("others have only %.2g requests in flight on %s on average, of %s each: too little to hold up one of the victim's, which takes %s",
		s.others.time/seconds, c.device, duration(s.others.time/max(s.others.ops, 1)), duration(s.latency))
	switch {
	case s.others.ops == 0:
		s.why = "nobody else uses " + c.device
	case reach < weightLimit*s.latency:
		s.why = less
	case s.base == 0:
		s.why, s.missing = "it is not known how long the victim's requests take when they are alone on "+c.device, true
	case s.latency < queueingRatio*s.base:
		s.why = fmt.Sprintf("its requests take %s, beside others no more than alone (%s)", duration(s.latency), duration(s.base))
	case s.latency < need*s.base:
		s.why, s.missing = fmt.Sprintf("its requests take %s beside others; how long alone is not known, but for the fastest percent on %s (%s)",
			duration(s.latency), c.device, duration(s.base)), true
	case reach < (s.latency-s.base)/2:
		s.why = less + ", alone " + duration(s.base)
	case s.excess()*s.blame(seconds) < weightLimit:
		s.why = fmt.Sprintf("its own %.0f requests in flight are what its requests wait for: others have %s of the bytes on %s",
			s.own.time/seconds, percent(s.others.bytes/max(s.own.bytes+s.others.bytes, 1)), c.device)
	}
	return s
}

// outside is the time, in seconds, that the victim waits for requests that have not
// begun: a device takes only so many at a time, and who finds all places taken
// waits for one. That is what is left of its waiting for reads and writes, where
// others always have some in flight and no limit of a cgroup holds it back.
func (c *Case) outside(s *sharing) float64 {
	v := &c.victim
	if s.others.time < c.w.Seconds() || c.syncs() || c.heldBack(v.process.IOCgroup, c.device) > 0 {
		return 0
	}
	fetched := (c.of(sample.CacheCold)+c.of(sample.CacheColdMapped))*pageSize + c.of(sample.DirectReadBytes)
	if s.own.bytes < fetched/2 {
		return 0 // most of what it waits for comes from elsewhere
	}
	return max(0, v.waitTotal-v.wait["sync"]-s.own.time)
}

// blamed is the share of the victim's waiting that others are to blame for.
func (c *Case) blamed(s *sharing) float64 {
	weight := c.deviceWeight()
	if s.outside > 0 {
		weight = c.part(s.own.time + s.outside)
	}
	return weight * s.excess() * s.blame(c.w.Seconds())
}

// users parts what the device did among the victim, the flusher and others, and
// finds the culprit among these. Many small processes are one where they have one
// name, or one cgroup that the victim is not in.
func (c *Case) users(s *sharing) {
	hands, flushes := c.hands(), c.flushes()
	type group struct {
		load
		pids map[int]load
	}
	groups := map[string]*group{}
	for pid, ops := range c.loads() {
		p := c.w.Processes[pid]
		if hands[pid] {
			s.own.add(ops["read"])
			s.own.add(ops["write"])
			s.own.add(ops["flush"])
			continue
		}
		l := ops["read"]
		l.add(ops["flush"])
		if flushes && p.Kernel {
			s.flusher.add(ops["write"])
			s.others.add(ops["write"])
		} else {
			l.add(ops["write"])
		}
		s.rivals.add(l)
		s.others.add(l)
		key := "program " + p.Comm
		if cg := p.IOCgroup; !p.Kernel && cg != "" && cg != "/" && !inCgroup(c.victim.process.IOCgroup, cg) {
			key = "cgroup " + cg
		}
		if groups[key] == nil {
			groups[key] = &group{pids: map[int]load{}}
		}
		groups[key].add(l)
		groups[key].pids[pid] = l
	}
	by := map[string]float64{}
	for key, g := range groups {
		by[key] = g.part(&s.rivals)
	}
	g := groups[largest(by)]
	if g == nil {
		return
	}
	parts := map[int]float64{}
	for pid, l := range g.pids {
		parts[pid] = l.part(&g.load)
	}
	s.rival, s.most, s.together = most(parts), g.load, len(g.pids)
}

// loads is what every process asks of the victim's device, by operation.
func (c *Case) loads() map[int]map[string]load {
	by := map[int]map[string]load{}
	for _, m := range []sample.Metric{sample.BlockQueueTime, sample.BlockDeviceTime, sample.BlockBytes, sample.BlockOps} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.Device != c.device || e.PID == 0 || e.Class == "other" {
				return
			}
			if by[e.PID] == nil {
				by[e.PID] = map[string]load{}
			}
			l := by[e.PID][e.Class]
			switch m {
			case sample.BlockBytes:
				l.bytes += s.Sum()
			case sample.BlockOps:
				l.ops += s.Sum()
			default:
				l.time += s.Sum()
			}
			by[e.PID][e.Class] = l
		})
	}
	return by
}

// flushes tells whether what kernel threads write to the device is the page
// cache's, and not the work of a driver above it (a loop device's, say).
func (c *Case) flushes() bool {
	flushed, ok := c.w.Sum(sample.WritebackBytes, sample.Entity{Device: c.device})
	if !ok {
		return false
	}
	written, _ := c.w.SumWhere(sample.BlockBytes, func(e sample.Entity) bool {
		return e.Device == c.device && e.PID != 0 && e.Class == "write" && c.w.Processes[e.PID].Kernel
	})
	return flushed >= 0.5*written
}

// aloneLatency is how long a request of a size takes that has the device to
// itself, or if none was seen that had, that comes to an idle device: the mean
// of those that did, or if that is less, the lowest mean at any depth. Where
// there were none of these either, the fastest percent of the device's requests
// is an upper bound.
func (c *Case) aloneLatency(op string, size uint64) (seconds float64, bound bool) {
	fastest := c.alone(op, 1<<max(0, bits.Len64(size)-1))
	alone := fastest > 0
	c.w.Each(sample.BlockDepthOps, func(e sample.Entity, s *sample.Series) {
		if e.Device != c.device {
			return
		}
		var k string
		var of, depth uint64
		if _, err := fmt.Sscanf(e.Class, "%s %d %d", &k, &of, &depth); err != nil || k != op || bits.Len64(of) != bits.Len64(size) {
			return
		}
		n := s.Sum()
		if t, ok := c.w.Sum(sample.BlockDepthTime, e); ok && n >= baseOps && (fastest == 0 || t/n < fastest) {
			fastest = t / n
		}
		alone = alone || depth == 1 && n >= baseOps
	})
	if alone {
		return fastest, false
	}
	h := c.w.Histogram(sample.HistDevice, sample.Entity{Device: c.device, Class: op})
	if h == nil || h.N() < 100 {
		return fastest, fastest > 0
	}
	if q := h.Quantile(0.01) / 1e9; fastest == 0 || q < fastest {
		fastest = q
	}
	return fastest, true
}

// aloneBefore is the same of the window that this one is compared with, for when
// nothing has the device to itself any more; 0 where that says nothing: it is
// another device, or one that now takes longer for the same.
func (c *Case) aloneBefore(op string, size uint64) float64 {
	if !c.comparable() {
		return 0
	}
	return c.was.aloneOn(c.device, op, 1<<max(0, bits.Len64(size)-1))
}

// comparable tells whether the device was the same before, and no faster.
func (c *Case) comparable() bool {
	return c.before != nil && c.before.Unknown == "" && c.anotherDevice() == "" && !c.slowerDevice()
}

// sharingEvidence is what both causes show that blame another user.
func (c *Case) sharingEvidence(s *sharing) []Evidence {
	name, seconds := "alone on the device it takes", c.w.Seconds()
	switch {
	case s.bound:
		name = "fastest percent of requests"
	case s.before:
		name = "alone on the device it took before"
	}
	return []Evidence{
		c.figure("its request takes", s.latency, "seconds", sample.BlockDeviceTime),
		c.figure(name, s.base, "seconds", sample.BlockDepthTime),
		c.figure("its requests in flight", s.own.time/seconds, "count", sample.BlockDeviceTime),
		c.figure("others' requests in flight", s.others.time/seconds, "count", sample.BlockDeviceTime),
		c.figure("of its waiting, for requests to begin", c.part(s.outside), "ratio", sample.WaitIO),
		c.figure("its bytes", s.own.bytes/seconds, "bytes/s", sample.BlockBytes),
		c.figure("others' bytes", s.others.bytes/seconds, "bytes/s", sample.BlockBytes),
	}
}

// without is what goes away with the others, who are to blame for a part of the
// waiting. What they take of the processors goes, too.
func (c *Case) without(part float64) removal {
	r := removal{sure: part * c.waiting(), maybe: c.victim.delay}
	if c.neverBlocks() {
		r.sure = part * c.inFlight()
	}
	return r
}
