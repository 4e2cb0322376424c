package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

const (
	// throttleNear is how near to its limit a throttled cgroup runs.
	throttleNear = 0.85
	// throttleHalf is how near it runs where its requests come in spells, as a
	// database's that commits in groups: then throttleHeld of them must have
	// been held back.
	throttleHalf = 0.5
	throttleHeld = 0.1
)

// ioLimit is the I/O limit, of the victim's cgroup or one above, that is used
// most.
type ioLimit struct {
	cgroup, device, class string
	limit, rate           float64 // per second
}

// cgroupIOThrottle: an I/O limit of a cgroup holds the victim back.
func cgroupIOThrottle() Cause {
	return Cause{
		ID: CgroupIOThrottle, Title: "an I/O limit of its cgroup throttles the program",
		Needs: [][]sample.Metric{{sample.CgroupIOLimit, sample.BlockThrottled}, {sample.CgroupReadBytes, sample.BlockBytes}},
		Over: append(deviceCauses(), ColdCache, MetadataBound, CacheBusting, CgroupCacheLimit, DirectIO, SyncWrites,
			ReadaheadWaste, DirtyThrottling),
		Judge: func(c *Case) Verdict {
			if !c.suffers() {
				return no("no program waits for I/O long enough to matter")
			}
			if c.victim.process.IOCgroup == "" {
				return cannotTell("the I/O cgroup of the victim is not known")
			}
			limit := c.ioLimited()
			if limit.Answer == Yes {
				return limit
			}
			if v, is := c.grants(); is {
				return v
			}
			return limit
		},
	}
}

// ioLimited judges io.max, or blkio.throttle of version 1.
func (c *Case) ioLimited() Verdict {
	best, any := c.nearestIOLimit()
	if !any {
		if n := c.heldBack(c.victim.process.IOCgroup, ""); n > 0 {
			return cannotTell(fmt.Sprintf("%.0f requests of its cgroup were throttled, but no limit could be read: %s",
				n, c.w.WhyAbsent(sample.CgroupIOLimit)))
		}
		return no("no cgroup of the victim has an I/O limit")
	}
	used, share := best.rate/best.limit, c.heldShare(&best)
	if used < throttleNear && (used < throttleHalf || share < throttleHeld) {
		return no(fmt.Sprintf("its cgroup uses %s of its limit", percent(used)))
	}
	held := 0.0
	if c.w.Has(sample.BlockThrottled) {
		if held = c.heldFor(&best); held == 0 {
			return no("no request of its cgroup was throttled")
		}
	}
	s := c.w.Seconds()
	unit := map[string]string{"read_bytes": "bytes/s", "write_bytes": "bytes/s", "reads": "count/s", "writes": "count/s"}[best.class]
	e := []Evidence{
		c.figure("limit of the cgroup ("+best.class+" a second)", best.limit, unit, sample.CgroupIOLimit).as("limit-of-the-cgroup"),
		c.figure("used", best.rate, unit, c.rateMetric(best.class)),
		{Name: "time blocked", Value: c.victim.share(s), Unit: "ratio", Source: c.w.Source(sample.WaitIO)},
	}
	weight := 1.0
	if c.w.Has(sample.BlockThrottled) {
		e = append(e, c.figure("requests held back", held/s, "count/s", sample.BlockThrottled))
		device, _ := c.w.SumWhere(sample.BlockDeviceTime, func(e sample.Entity) bool {
			return e.Cgroup != "" && inCgroup(e.Cgroup, best.cgroup) && e.Device == best.device
		})
		e = append(e, c.figure("time the device had its requests", device/s, "ratio", sample.BlockDeviceTime))
		// requests of one thread share the device's time
		waited, waiters := c.waitedIn(&best)
		if device = min(device, c.busy()*s*waiters); waited > 0 {
			weight = max(0, 1-device/waited)
		}
	}
	k := c.victimCulprit()
	k.Cgroup, k.Device = best.cgroup, best.device
	c.at(&k, c.topFile(best.device, c.usual()...))
	away := c.withoutLimit(weight)
	lift := c.promise(away).advise(
		fmt.Sprintf("raise or remove the limit %s of the cgroup on %s", best.class, best.device),
		fmt.Sprintf("the device had its requests for only %s of the waiting time; the rest goes away", percent(1-weight)),
	)
	lift.Command = c.ioLimitCommand(&best)
	twice := fmt.Sprintf("%.0f", 2*best.limit)
	if unit == "bytes/s" {
		twice = bytes(2 * best.limit)
	}
	double := c.timesFaster(2, away.sure, away.maybe).advise("or double it", fmt.Sprintf("%s a second pass, if the device takes so much", twice))
	return Verdict{
		Answer: Yes, Confidence: confidence(max(0.5+(used-throttleNear)*3, min(0.5+share, 0.8)), c.w.Has(sample.BlockThrottled)),
		Weight: weight * c.blockedWeight(), Culprit: k, Evidence: e,
		Disprove: "the speed stays the same after the limit is removed",
		Advice:   []Advice{lift, double},
	}
}

// waitedIn is what all processes that a limit is for wait for I/O, in seconds summed
// over threads, and how many threads share that: the device works for all of them.
func (c *Case) waitedIn(l *ioLimit) (seconds, waiters float64) {
	seconds, waiters = c.victim.waitTotal+c.victim.pause, c.victim.waiters()
	seen := map[int]bool{c.victim.pid: true}
	for _, m := range []sample.Metric{sample.WaitIO, sample.WaitDirtyPause} {
		c.w.Each(m, func(e sample.Entity, _ *sample.Series) {
			p := c.w.Processes[e.PID]
			if seen[e.PID] || p.Kernel || p.IOCgroup == "" || !inCgroup(p.IOCgroup, l.cgroup) {
				return
			}
			seen[e.PID] = true
			of := func(device string) float64 {
				return c.blockTime(func(x sample.Entity) bool { return x.PID == e.PID && (device == "" || x.Device == device) })
			}
			if of("") > 0 && of(l.device) == 0 {
				return // it waits for another device
			}
			if v := c.measure(e.PID); v.waitTotal+v.pause > 0 {
				seconds, waiters = seconds+v.waitTotal+v.pause, waiters+v.waiters()
			}
		})
	}
	return seconds, waiters
}

// nearestIOLimit finds the limit that is used most, of the victim's cgroups.
func (c *Case) nearestIOLimit() (best ioLimit, any bool) {
	own := c.victim.process.IOCgroup
	c.w.Each(sample.CgroupIOLimit, func(e sample.Entity, s *sample.Series) {
		if !inCgroup(own, e.Cgroup) || s.Last() <= 0 {
			return
		}
		l := ioLimit{cgroup: e.Cgroup, device: e.Device, class: e.Class, limit: s.Last()}
		l.rate = c.cgroupRate(e.Cgroup, e.Device, e.Class)
		if !any || l.rate/l.limit > best.rate/best.limit {
			best, any = l, true
		}
	})
	return best, any
}

// rateMetric is where the rate that a limit is compared with comes from.
func (c *Case) rateMetric(class string) sample.Metric {
	return map[string]sample.Metric{
		"read_bytes": sample.CgroupReadBytes, "write_bytes": sample.CgroupWriteBytes,
		"reads": sample.CgroupReads, "writes": sample.CgroupWrites,
	}[class]
}

// cgroupRate is what a cgroup and those below it did on a device, a second.
// The kernel charges a cgroup when a request passes the limit.
func (c *Case) cgroupRate(cgroup, device, class string) float64 {
	total, _ := c.w.SumWhere(c.rateMetric(class), func(e sample.Entity) bool {
		return inCgroup(e.Cgroup, cgroup) && e.Device == device
	})
	if total == 0 { // not charged where we look: what the device completed for it
		op := map[string]string{sample.ClassReadBytes: sample.ClassRead, sample.ClassReads: sample.ClassRead, sample.ClassWriteBytes: sample.ClassWrite, sample.ClassWrites: sample.ClassWrite}[class]
		m := sample.BlockOps
		if class == sample.ClassReadBytes || class == sample.ClassWriteBytes {
			m = sample.BlockBytes
		}
		total, _ = c.w.SumWhere(m, func(e sample.Entity) bool {
			return e.Cgroup != "" && inCgroup(e.Cgroup, cgroup) && e.Device == device && e.Class == op
		})
	}
	return total / c.w.Seconds()
}

// heldFor counts the requests that the victim may have waited for at a limit:
// those charged to its own cgroup, or where it waits for what others write for it
// (the journal's thread, the flusher), to any that the limit is of. A limit of the
// root in cgroup v1 holds only what is charged to the root itself.
func (c *Case) heldFor(l *ioLimit) float64 {
	if n := c.heldBack(c.victim.process.IOCgroup, l.device); n > 0 {
		return n
	}
	v := &c.victim
	if 2*(c.syncWait()+v.wait[sample.ClassWrite]+v.pause) < v.waitTotal+v.pause {
		return 0
	}
	return c.heldBack(l.cgroup, l.device)
}

// heldBack counts the requests of a cgroup (and those below it) that a limit
// held back; on any device when device is "".
func (c *Case) heldBack(cgroup, device string) float64 {
	n, _ := c.w.SumWhere(sample.BlockThrottled, func(e sample.Entity) bool {
		return e.Cgroup != "" && inCgroup(e.Cgroup, cgroup) && (device == "" || e.Device == device)
	})
	return n
}

// withoutLimit is what goes away with a limit that is to blame for a part of the
// waiting. The device may also take less time for requests that it gets one by
// one than for the many that a limit lets through at once.
func (c *Case) withoutLimit(part float64) removal {
	if c.neverBlocks() {
		return removal{maybe: c.inFlight()} // how much more the device can take is not known
	}
	waited := c.victim.waitTotal + c.victim.pause
	return removal{sure: part * waited, maybe: (1 - part) * waited}
}

// heldShare is the share of what passed a limit that was held back before: of
// the bytes, or of the requests; 0 where that is not known.
func (c *Case) heldShare(l *ioLimit) float64 {
	m, read := sample.BlockThrottled, l.class == "reads" || l.class == "read_bytes"
	if l.class == "read_bytes" || l.class == "write_bytes" {
		m = sample.BlockThrottledB
	}
	n, _ := c.w.SumWhere(m, func(e sample.Entity) bool {
		return e.Cgroup != "" && inCgroup(e.Cgroup, l.cgroup) && e.Device == l.device && (e.Class == sample.ClassRead) == read
	})
	if l.rate <= 0 {
		return 0
	}
	return n / (l.rate * c.w.Seconds())
}
