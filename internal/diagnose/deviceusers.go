package diagnose

import "iocause/internal/sample"

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
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		x, y := a[op], b[op]
		if !near(x.ops, y.ops) || x.ops > 0 && !near(x.bytes/x.ops, y.bytes/y.ops) {
			return false
		}
	}
	return true
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
		if pid != c.victim.pid { // the journal's thread may discard what it frees
			l := ops[sample.ClassDiscard]
			l.bytes = 0
			s.discards.add(l)
			s.others.add(l)
		}
		if hands[pid] {
			s.own.add(ops[sample.ClassRead])
			s.own.add(ops[sample.ClassWrite])
			s.own.add(ops[sample.ClassFlush])
			continue
		}
		l := ops[sample.ClassRead]
		l.add(ops[sample.ClassFlush])
		if flushes && p.Kernel {
			s.flusher.add(ops[sample.ClassWrite])
			s.others.add(ops[sample.ClassWrite])
		} else {
			l.add(ops[sample.ClassWrite])
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
			if e.Device != c.device || e.PID == 0 || e.Class == sample.ClassOther {
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
		return e.Device == c.device && e.PID != 0 && e.Class == sample.ClassWrite && c.w.Processes[e.PID].Kernel
	})
	return flushed >= 0.5*written
}
