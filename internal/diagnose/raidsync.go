package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// reconstructs is how many times as much an array without all its disks must read
// from the others as is read from it, to be slow for that.
const reconstructs = 1.25

// array is one of md's that the victim's device is part of, or is.
type array struct {
	name, kind, action string // action is "" where it does nothing beside serving I/O
	members, missing   float64
	threads            load    // what its threads have on the victim's device
	others             load    // what all have there
	own                float64 // share of its I/O's time that passes in the array itself
	amplified          float64 // bytes read from its disks for each byte read from it
}

// raidSync: an array is rebuilt or checked, or reads what it lacks from its other
// disks, and takes their time.
func raidSync() Cause {
	return Cause{
		ID: RaidSync, Title: "a RAID array is rebuilt, checked or lacks a disk, and takes the disks' time",
		Needs: [][]sample.Metric{{sample.RaidMembers}, {sample.BlockDeviceTime}},
		Over: append(deviceCauses(), ColdCache, CacheBusting, DirectIO, SyncWrites, DirtyThrottling, NoisyNeighbour,
			WritebackInterference, DeviceDegraded),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldRaid()
			}
			if v := c.outOfDevice(); v != nil {
				return *v
			}
			if !c.w.Has(sample.RaidMembers) {
				return cannotTell(c.w.WhyAbsent(sample.RaidMembers))
			}
			all := c.arrays()
			if len(all) == 0 {
				return no(c.device + " is in no array of md")
			}
			if !c.w.Has(sample.BlockDeviceTime) {
				return cannotTell(c.w.WhyAbsent(sample.BlockDeviceTime))
			}
			var idle []string
			for _, a := range all {
				switch {
				case a.action != "":
					return c.syncVerdict(&a)
				case a.missing > 0 && a.amplified >= reconstructs:
					return c.reconstructVerdict(&a)
				case a.missing > 0:
					idle = append(idle, fmt.Sprintf("%s lacks %.0f of %.0f disks, but nothing is rebuilt and its reads cost no more for that", a.name, a.missing, a.members))
				default:
					idle = append(idle, a.name+" has all its disks and is neither rebuilt nor checked")
				}
			}
			return no(strings.Join(idle, "; "))
		},
	}
}

// arrays are those that the victim's device is part of, the busy ones first.
func (c *Case) arrays() []array {
	var all []array
	c.w.Each(sample.RaidMembers, func(e sample.Entity, s *sample.Series) {
		if all := c.w.Told && !c.inAnArray(); e.Device == "" || !all && !slices.Contains(c.below(e.Device), c.device) && !slices.Contains(c.below(c.device), e.Device) {
			return
		}
		a := array{name: e.Device, members: s.Last()}
		a.missing, _ = c.w.Value(sample.RaidDegraded, e)
		c.w.Each(sample.DeviceKind, func(of sample.Entity, _ *sample.Series) {
			if of.Device == a.name {
				a.kind = of.Class
			}
		})
		c.w.Each(sample.RaidAction, func(of sample.Entity, _ *sample.Series) {
			if of.Device == a.name && of.Class != "idle" && of.Class != "frozen" {
				a.action = of.Class
			}
		})
		c.measureArray(&a)
		all = append(all, a)
	})
	slices.SortFunc(all, func(a, b array) int {
		if (a.action != "") != (b.action != "") {
			if a.action != "" {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

// inAnArray tells whether the victim's device is one that arrays were read of.
func (c *Case) inAnArray() bool {
	in := false
	c.w.Each(sample.RaidMembers, func(e sample.Entity, _ *sample.Series) {
		in = in || slices.Contains(c.below(e.Device), c.device) || slices.Contains(c.below(c.device), e.Device)
	})
	return in
}

// measureArray adds up what the array's threads (md0_resync, md0_raid5) have in flight on
// the victim's device: what others asked for counts as theirs on the way down, so that
// this is what the array does for itself.
func (c *Case) measureArray(a *array) {
	for pid, ops := range c.loads() {
		p := c.w.Processes[pid]
		for _, l := range ops {
			if p.Kernel && strings.HasPrefix(p.Comm, a.name+"_") {
				a.threads.add(l)
			}
			a.others.add(l)
		}
	}
	var own, whole float64
	c.w.Each(sample.LayerTime, func(e sample.Entity, s *sample.Series) {
		if e.Device == a.name {
			t, _ := c.w.Sum(sample.LayerOwnTime, e)
			own, whole = own+t, whole+s.Sum()
		}
	})
	if whole > 0 {
		a.own = clamp01(own / whole)
	}
	of, _ := c.w.Sum(sample.DiskReadBytes, sample.Entity{Device: a.name})
	var from float64
	c.w.Each(sample.DeviceOn, func(e sample.Entity, _ *sample.Series) {
		if e.Device == a.name {
			b, _ := c.w.Sum(sample.DiskReadBytes, sample.Entity{Device: e.Class})
			from += b
		}
	})
	if of > 0 {
		a.amplified = from / of
	}
}

// syncVerdict judges an array that is rebuilt or checked.
func (c *Case) syncVerdict(a *array) Verdict {
	s := c.shared()
	part := a.threads.part(&a.others)
	weight := c.deviceWeight() * part
	if s.why == "" && !s.missing && s.others.ops > 0 {
		weight = max(weight, c.blamed(&s)*a.threads.part(&s.others))
	}
	// What waits in the array itself waits until the rebuild has left the place.
	weight = clamp01(max(weight, c.blockedWeight()*a.own))
	if weight < weightLimit {
		return no(fmt.Sprintf("%s of %s is running, but has %s of the I/O on %s", a.action, a.name, percent(part), c.device))
	}
	seconds := c.w.Seconds()
	e := []Evidence{
		c.figure("of the device's I/O, the array's own", part, "ratio", sample.BlockDeviceTime),
		c.figure("bytes of the array's own I/O", a.threads.bytes/seconds, "bytes/s", sample.BlockBytes),
	}
	if c.w.Has(sample.LayerOwnTime) {
		e = append(e, c.figure("time of its I/O in the array itself", a.own, "ratio", sample.LayerOwnTime))
	}
	of := sample.Entity{Device: a.name}
	if done, ok := c.w.Value(sample.RaidDone, of); ok {
		e = append(e, c.figureOf(a.action+" done", done, "ratio", sample.RaidDone, of).as("rebuild-done"))
	}
	if speed, ok := c.w.Value(sample.RaidSpeed, of); ok {
		e = append(e, c.figureOf("speed of the "+a.action, speed, "bytes/s", sample.RaidSpeed, of).as("rebuild-speed"))
	}
	if a.missing > 0 {
		e = append(e, c.figureOf("disks missing", a.missing, "count", sample.RaidDegraded, of))
	}
	do, expect := "wait until it is done, or lower its speed (sync_speed_max, KiB a second and disk)", "requests of the victim no longer wait behind it; it takes longer"
	if a.action == "check" || a.action == "repair" {
		do = "lower the speed of the check (sync_speed_max, KiB a second and disk), stop it (echo idle > sync_action), or run it at another time"
	} else if a.missing > 0 {
		expect += ", and until it is done another failing disk costs data"
	}
	return Verdict{
		Answer: Yes, Confidence: 0.90, Weight: weight, Culprit: Culprit{Device: a.name}, Evidence: e,
		Disprove: "the victim's requests take as long while the " + a.action + " is paused (echo frozen > sync_action)",
		Advice: []Advice{c.promise(c.without(weight)).advise(do, expect).with(
			fmt.Sprintf("echo 10000 > /sys/block/%s/md/sync_speed_max", a.name), a.name)},
	}
}

// reconstructVerdict judges an array that reads what it lacks from its other disks.
func (c *Case) reconstructVerdict(a *array) Verdict {
	of := sample.Entity{Device: a.name}
	part := a.threads.part(&a.others) // md reads for a block in pieces of a page
	return Verdict{
		Answer: Yes, Confidence: 0.80, Weight: c.deviceWeight() * max(1-1/a.amplified, part), Culprit: Culprit{Device: a.name},
		Evidence: []Evidence{
			c.figure("of the device's I/O, the array's own", part, "ratio", sample.BlockDeviceTime),
			c.figureOf("disks missing", a.missing, "count", sample.RaidDegraded, of),
			c.figureOf("disks of the array", a.members, "count", sample.RaidMembers, of),
			c.figureOf("bytes read from its disks for each byte read", a.amplified, "count", sample.DiskReadBytes, of),
		},
		Disprove: "reads are as slow once the array has all its disks again",
		Advice: []Advice{Advice{
			Do:     "replace the missing disk of " + a.name + " (" + a.kind + "): what it held is computed from all the others for each read",
			Expect: "one read for each read; while it is rebuilt the disks are busier still",
		}.with("mdadm --detail /dev/"+a.name, a.name)},
	}
}
