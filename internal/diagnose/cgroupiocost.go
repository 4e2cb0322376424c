package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// io.cost divides a device's time among cgroups by their weights, and io.latency holds
// back those whose latency matters less. Neither is a limit that a rate could be held
// against: only who waits for it tells that it is reached.

// grantNear is the least part of its waiting for I/O that a victim spends held back by
// io.cost or io.latency for them to have a part in it.
const grantNear = 0.1

// held is what is known of a victim that io.cost or io.latency holds back.
type held struct {
	seconds float64 // of the victim's waiting
	metric  sample.Metric
	by      string // "io.cost" or "io.latency"; both where it is not known which
	cgroup  string
	device  string
}

// grants judges io.cost and io.latency; false where neither has to do with the victim.
func (c *Case) grants() (Verdict, bool) {
	h := c.grantedBy()
	if h.by == "" {
		return Verdict{}, false
	}
	switch waited := c.victim.waitTotal; {
	case h.metric == "":
		return cannotTell(fmt.Sprintf("%s is on for %s, and how long it holds requests of %s back is not known: %s", h.by, h.device, h.cgroup, c.whyNotGranted())), true
	case h.seconds <= grantNear*waited:
		return no(fmt.Sprintf("%s holds the victim back for %s of the time that it waits for I/O", h.by, percent(h.seconds/waited))), true
	}
	s := c.w.Seconds()
	share := min(1, h.seconds/c.victim.waitTotal)
	e := []Evidence{c.figure("time held back by "+h.by, c.victim.shareOf(h.seconds, s), "ratio", h.metric).as("time-held-back")}
	if used, ok := c.w.Sum(sample.CgroupIOCost, sample.Entity{Cgroup: h.cgroup, Device: h.device}); ok {
		e = append(e, c.figure("device time charged to its cgroup", used/s, "ratio", sample.CgroupIOCost))
	}
	if wait, ok := c.w.Sum(sample.CgroupIOCostWait, sample.Entity{Cgroup: h.cgroup, Device: h.device}); ok && h.metric != sample.CgroupIOCostWait {
		e = append(e, c.figure("time that its cgroup's requests waited", wait/s, "ratio", sample.CgroupIOCostWait))
	}
	k := c.victimCulprit()
	k.Cgroup, k.Device = h.cgroup, h.device
	c.at(&k, c.topFile(h.device, c.usual()...))
	advice := c.promise(removal{maybe: h.seconds}).advise(
		fmt.Sprintf("raise io.weight of the cgroup, or loosen io.cost.qos and io.cost.model for %s if they promise less than the device can do", h.device),
		"io.cost gives each cgroup its share of what the model says the device can do",
	)
	if h.by == "io.latency" {
		advice = c.promise(removal{maybe: h.seconds}).advise(
			fmt.Sprintf("raise the target in io.latency of the cgroups that it protects on %s, or give this cgroup one of its own", h.device),
			"io.latency holds those back whose target is longer",
		)
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(share, true), Weight: share * c.blockedWeight(), Culprit: k, Evidence: e,
		Disprove: "the speed stays the same with a larger weight or target",
		Advice:   []Advice{advice},
	}, true
}

// grantedBy finds out how long the victim is held back and by what: from where its
// threads sleep, else from the kernel's own account of its cgroup.
func (c *Case) grantedBy() held {
	own := c.victim.process.IOCgroup
	h := held{seconds: c.victim.waits[sample.ClassLimit], cgroup: own, device: c.device}
	if c.victim.waits != nil {
		h.metric = sample.WaitFor
	}
	_, charged := c.w.Sum(sample.CgroupIOCost, sample.Entity{Cgroup: own, Device: c.device})
	switch {
	case charged:
		h.by = "io.cost"
		if wait, ok := c.w.Sum(sample.CgroupIOCostWait, sample.Entity{Cgroup: own, Device: c.device}); ok && h.metric == "" {
			h.seconds, h.metric = min(wait, c.victim.waitTotal), sample.CgroupIOCostWait
		}
	case c.hasTarget(c.device):
		h.by = "io.latency"
	case h.seconds > 0:
		h.by = "io.cost or io.latency"
	}
	return h
}

// hasTarget tells whether io.latency protects any cgroup on a device.
func (c *Case) hasTarget(device string) (has bool) {
	c.w.Each(sample.CgroupIOTarget, func(e sample.Entity, _ *sample.Series) { has = has || e.Device == device })
	return has
}

// whyNotGranted says what is missing to know how long requests are held back.
func (c *Case) whyNotGranted() string {
	return fmt.Sprintf("%s; for io.cost, the kernel's account of it helps: echo 1 >/sys/module/blk_cgroup/parameters/blkcg_debug_stats", c.w.WhyAbsent(sample.WaitFor))
}
