package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// What a text tells of the victim's device and of what that lies on.

// toldOps is what the text tells of a device's requests: how many, and the seconds of
// all of them. A disk may be called nvme0 where its requests are those of nvme0n1.
func (c *Case) toldOps(device string, metrics ...sample.Metric) (sum float64, known bool) {
	for _, m := range metrics {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.Device == device || strings.HasPrefix(device, "nvme") && strings.HasPrefix(e.Device, device+"n") {
				sum, known = sum+s.Sum(), true
			}
		})
	}
	return sum, known
}

// toldLatency is the mean time of a device's reads and writes; ok is false where the
// text does not tell it, or there were none.
func (c *Case) toldLatency(device string) (seconds float64, ok bool) {
	t, timed := c.toldOps(device, sample.DiskReadTime, sample.DiskWriteTime)
	n, _ := c.toldOps(device, sample.DiskReads, sample.DiskWrites)
	return t / max(n, 1), timed && n > 0
}

// toldLacks is the answer where a text lacks what it takes: no where it shows that
// nobody waits, else what to paste.
func (c *Case) toldLacks(what string) Verdict {
	if !c.suffers() && !c.toldBlind() {
		return no("no program waits for I/O long enough to matter")
	}
	return cannotTell(what)
}

// toldRaid judges arrays from what /proc/mdstat or zpool status say.
func (c *Case) toldRaid() Verdict {
	if !c.w.Has(sample.RaidMembers) {
		return c.toldLacks("what arrays of disks are doing is not in the text: paste cat /proc/mdstat, or zpool status")
	}
	all := c.arrays()
	if len(all) == 0 {
		return no(c.device + " is in no array that the text tells of")
	}
	var idle []string
	for _, a := range all {
		switch {
		case a.action != "":
			return c.toldSyncing(&a)
		case a.missing > 0 && a.amplified >= reconstructs && c.suffers():
			return c.reconstructVerdict(&a)
		case a.missing > 0 && a.amplified == 0:
			return cannotTell(fmt.Sprintf("%s lacks %.0f of %.0f disks; whether its reads cost more for that is not in the text: paste iostat -xz 1 5, with the array and its disks", a.name, a.missing, a.members))
		case a.missing > 0:
			idle = append(idle, fmt.Sprintf("%s lacks %.0f of %.0f disks, but its reads cost no more for that", a.name, a.missing, a.members))
		default:
			idle = append(idle, a.name+" has all its disks and is neither rebuilt nor checked")
		}
	}
	return no(strings.Join(idle, "; "))
}

// toldSyncing judges an array that is rebuilt or checked: by its part of what its
// disks move where the text has that, else by the fact alone.
func (c *Case) toldSyncing(a *array) Verdict {
	of := sample.Entity{Device: a.name}
	speed, _ := c.w.Value(sample.RaidSpeed, of)
	var moved, disks float64
	c.w.Each(sample.DeviceOn, func(e sample.Entity, _ *sample.Series) {
		if e.Device != a.name {
			return
		}
		if n, known := c.toldOps(e.Class, sample.DiskReadBytes, sample.DiskWriteBytes); known {
			moved, disks = moved+n/c.w.Seconds(), disks+1
		}
	})
	own := speed * disks
	if a.kind == "zfs" { // counted for the whole pool
		own = speed
	}
	v := Verdict{
		Answer: Yes, Confidence: 0.50, Weight: 1, WeightOf: OfLog, Culprit: Culprit{Device: a.name},
		Disprove: "the victim's requests take as long while the " + a.action + " is paused",
		Evidence: []Evidence{c.figureOf("speed of the "+a.action, speed, "bytes/s", sample.RaidSpeed, of).as("rebuild-speed")},
	}
	if done, ok := c.w.Value(sample.RaidDone, of); ok {
		v.Evidence = append(v.Evidence, c.figureOf(a.action+" done", done, "ratio", sample.RaidDone, of).as("rebuild-done"))
	}
	if a.missing > 0 {
		v.Evidence = append(v.Evidence, c.figureOf("disks missing", a.missing, "count", sample.RaidDegraded, of))
	}
	switch {
	case moved > 0 && own < weightLimit*moved:
		return no(fmt.Sprintf("the %s of %s moves only %s of what its disks move", a.action, a.name, percent(own/moved)))
	case moved > 0 && c.suffers():
		v.Confidence, v.Weight, v.WeightOf = 0.75, min(1, own/moved), ""
		v.Evidence = append(v.Evidence, c.figure("of what its disks move, the "+a.action+"'s", own/moved, "ratio", sample.DiskReadBytes).as("of-the-disks-bytes"))
	case !c.suffers() && !c.toldBlind():
		return no("a " + a.action + " of " + a.name + " is running, but the text shows that nobody waits for I/O")
	}
	v.Advice = []Advice{Advice{
		Do:     "wait until it is done, or lower its speed (sync_speed_max, KiB a second and disk); a check can be stopped (echo idle > sync_action)",
		Expect: "other requests no longer wait behind it; it takes longer",
	}.with("echo 10000 > /sys/block/"+a.name+"/md/sync_speed_max", a.name)}
	if a.kind == "zfs" {
		v.Advice[0].Do, v.Advice[0].Command = "wait until it is done; a scrub can be paused (zpool scrub -p), a resilver takes less of the disks with a smaller zfs_resilver_min_time_ms", "zpool status"
	}
	return v
}

// toldUnhealthy judges what disks report of themselves (smartctl, nvme smart-log).
func (c *Case) toldUnhealthy() Verdict {
	by := map[string]float64{}
	var e []Evidence
	c.w.Each(sample.HealthErrors, func(of sample.Entity, s *sample.Series) { by[of.Device] += s.Last() })
	c.w.Each(sample.HealthWarnings, func(of sample.Entity, s *sample.Series) {
		n := 0.0 // a disk that was asked counts, also where it warns of nothing
		if of.Class != "" {
			n = s.Last()
		}
		by[of.Device] += n
	})
	if len(by) == 0 {
		return c.toldLacks("what disks report of themselves is not in the text: paste smartctl -a DEVICE, or nvme smart-log DEVICE")
	}
	var all float64
	for _, n := range by {
		all += n
	}
	if all == 0 {
		return no(strings.Join(slices.Sorted(maps.Keys(by)), ", ") + ": no fault reported")
	}
	device := slices.MaxFunc(slices.Sorted(maps.Keys(by)), func(a, b string) int { return cmp.Compare(by[a], by[b]) })
	for _, m := range []sample.Metric{sample.HealthErrors, sample.HealthWarnings} {
		c.w.Each(m, func(of sample.Entity, s *sample.Series) {
			if of.Device == device && of.Class != "" && s.Last() > 0 {
				name := device + ": " + of.Class
				if m == sample.HealthWarnings {
					name = device + " warns: " + of.Class
				}
				e = append(e, Evidence{ID: "device-faults", Name: name, Value: s.Last(), Unit: "count", Source: s.Source})
			}
		})
	}
	slices.SortFunc(e, func(a, b Evidence) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), strings.Compare(a.Name, b.Name))
	})
	mean, timed := c.toldLatency(device)
	if timed && mean < sickLatency {
		return no(fmt.Sprintf("%s reports a fault (%s), but answers in %s: that is not what slows it down; save its data all the same", device, e[0].Name, duration(mean)))
	}
	v := Verdict{
		Answer: Yes, Confidence: confidence(min(1, by[device]/10), false), Weight: by[device] / all, WeightOf: OfLog,
		Culprit: Culprit{Device: device}, Evidence: e,
		Disprove: "the faults are older than the slowness: the counters cover the life of the disk, so read them twice, and compare the times in its error log (smartctl -l error)",
		Advice: []Advice{{
			Do:     "save the data of " + device + " and replace it; until then paste dmesg -T to see which requests fail",
			Expect: "a program that reads a bad sector waits until the disk gives up (seconds, or minutes without a limit: smartctl -l scterc), each time",
		}},
	}
	if len(e) == 1 && strings.Contains(e[0].Name, "hot") {
		v.Advice = []Advice{{
			Do:     fmt.Sprintf("cool %s: its fan, heat sink and the air around it", device),
			Expect: "a device that is too hot slows itself down",
		}}
	}
	if timed && c.suffers() {
		v.Confidence, v.Weight, v.WeightOf = 0.75, c.deviceWeight(), ""
		v.Evidence = append(v.Evidence, c.figure("time of a request", mean, "seconds", sample.DiskReadTime))
	}
	return v
}

// toldCacheOff judges write caches from what hdparm, smartctl or the kernel's log say
// of them, beside the time of writes.
func (c *Case) toldCacheOff() Verdict {
	off, all := []string{}, map[string]bool{}
	for _, m := range []sample.Metric{sample.DeviceCacheOn, sample.DeviceWriteCache} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			all[e.Device] = true
			if s.Last() == 0 && !slices.Contains(off, e.Device) {
				off = append(off, e.Device)
			}
		})
	}
	slices.Sort(off)
	switch {
	case len(all) == 0:
		return c.toldLacks("whether the write cache is on is not in the text: paste hdparm -W DEVICE, or the lines of dmesg with 'Write cache'")
	case len(off) == 0:
		return no("the write cache of " + strings.Join(slices.Sorted(maps.Keys(all)), ", ") + " is on")
	}
	for _, d := range off {
		t, timed := c.toldOps(d, sample.DiskWriteTime)
		n, _ := c.toldOps(d, sample.DiskWrites)
		whole, _ := c.toldOps(d, sample.DiskReadTime, sample.DiskWriteTime, sample.DiskFlushTime)
		switch {
		case !timed:
			return cannotTell(fmt.Sprintf("the write cache of %s is off; how long its writes take is not in the text: paste iostat -xz 1 5", d))
		case !c.suffers() || n == 0 || t/n < slowWrite || t < writesWait*whole:
			continue
		}
		s := c.w.Seconds()
		from := sample.DeviceCacheOn
		if !c.w.Has(from) {
			from = sample.DeviceWriteCache
		}
		return Verdict{
			Answer: Yes, Confidence: 0.65, Weight: t / whole, Culprit: Culprit{Device: d},
			Evidence: []Evidence{
				c.figureOf("write cache on (0: off)", 0, "count", from, sample.Entity{Device: d}),
				c.figure("time of one write to "+d, t/n, "seconds", sample.DiskWriteTime).as("time-of-one-write"),
				c.figure("writes to "+d, n/s, "count/s", sample.DiskWrites).as("writes"),
			},
			Disprove: "writes take as long with the cache on, or a controller keeps a protected cache of its own in front of the disk",
			Advice: []Advice{{
				Do:      fmt.Sprintf("switch the write cache of %s on, unless something writes to it without flushes (nobarrier, a controller with a cache of its own)", d),
				Expect:  "writes of one commit go into the cache together, and wait once, in its flush",
				Command: c.cacheOnCommand(d),
			}},
		}
	}
	return no("the write cache of " + strings.Join(off, ", ") + " is off, but the text shows no slow writes that somebody waits for")
}

// toldDiscards judges discards by the times that iostat shows.
func (c *Case) toldDiscards() Verdict {
	if !c.w.Has(sample.DiskDiscardTime) {
		return c.toldLacks("discards are not in the text: paste iostat -xz 1 5 of sysstat 12.1 or newer (d/s, d_await)")
	}
	t, _ := c.toldOps(c.device, sample.DiskDiscardTime)
	n, _ := c.toldOps(c.device, sample.DiskDiscards)
	others, _ := c.toldOps(c.device, sample.DiskReadTime, sample.DiskWriteTime, sample.DiskFlushTime)
	s := c.w.Seconds()
	switch {
	case c.device == "" || n == 0:
		return no("nobody discards anything")
	case t < 0.5*(t+others) || t/s < waitShareLimit:
		return no(fmt.Sprintf("discards are %s of the time that %s has requests in flight", percent(t/max(t+others, 1e-9)), c.device))
	case !c.suffers():
		return no("no program waits for I/O long enough to matter")
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(t/(t+others)-0.2, false), Weight: t / (t + others), Culprit: c.toldCulprit(Culprit{Device: c.device}),
		Evidence: []Evidence{
			c.figure("of the time of all requests of "+c.device+", discards", t/(t+others), "ratio", sample.DiskDiscardTime).as("time-of-discards"),
			c.figure("discards", n/s, "count/s", sample.DiskDiscards),
			c.figure("time of one discard", t/n, "seconds", sample.DiskDiscardTime),
		},
		Disprove: "reads and writes take as long while nothing is discarded",
		Advice: []Advice{{
			Do:     "discard at a quiet hour (fstrim.timer) instead of all the time (mount option discard), in smaller pieces (discard_max_bytes), or let whoever deletes go slower",
			Expect: "reads and writes no longer wait behind discards",
		}},
	}
}
