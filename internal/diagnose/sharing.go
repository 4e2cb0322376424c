package diagnose

import (
	"fmt"
	"math"

	"iocause/internal/sample"
)

// othersLimit is the share of all bytes from which on a text's one other program
// is in the way of who waits: how long requests take alone no text tells.
const othersLimit = 0.50

// crowdShare is the share of what a crowded device works on from which on it is the
// others' crowd.
const crowdShare = 0.8

// sharing is how a device was shared during the window.
type sharing struct {
	why      string  // why nothing can be said, or nobody else is to blame; "" when somebody may be
	missing  bool    // why is what is missing
	own      load    // the victim's
	others   load    // everybody else's, the flusher's included
	flusher  load    // what the kernel writes back from the page cache
	discards load    // what is discarded by others, by whom ever; its bytes are not moved, and not counted
	rivals   load    // all others but the flusher, without discards
	rival    int     // the process that does most of the culprit's
	most     load    // the culprit's: of one name, or of one cgroup apart from the victim's
	together int     // processes that the culprit is
	outside  float64 // seconds that the victim waits for requests that have not begun
	ownLatency
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

// crowded tells that others keep the device so full that how long the victim's
// requests take alone cannot be seen, and theirs are nearly all that it works on.
func (s *sharing) crowded(seconds float64) bool {
	all := s.own
	all.add(s.others)
	return s.others.time >= crowd*seconds && s.others.part(&all) >= crowdShare
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
		s.why = "no program waits for I/O long enough to matter"
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
	less := fmt.Sprintf("others have only %.2g requests in flight on %s on average, of %s each: too few to delay the victim's, which take %s each",
		s.others.time/seconds, c.device, duration(s.others.time/max(s.others.ops, 1)), duration(s.latency))
	switch {
	case s.others.ops == 0:
		s.why = "nobody else uses " + c.device
	case reach < weightLimit*s.latency:
		s.why = less
	case s.base == 0:
		s.why, s.missing = "how long the victim's requests take alone is not known on "+c.device, true
	case s.latency < queueingRatio*s.base && !s.bound:
		s.why = fmt.Sprintf("its requests take %s beside others, no longer than alone (%s)", duration(s.latency), duration(s.base))
	case s.latency < need*s.base && (!s.crowded(seconds) || s.latency < queueingRatio*s.base):
		s.why, s.missing = fmt.Sprintf("its requests take %s beside others; how long alone is not known, only the fastest percent on %s (%s)",
			duration(s.latency), c.device, duration(s.base)), true
	case reach < (s.latency-s.base)/2:
		s.why = less + ", alone " + duration(s.base)
	case s.excess()*s.blame(seconds) < weightLimit:
		s.why = fmt.Sprintf("its requests wait for its own %.0f requests in flight: others have %s of the bytes on %s",
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
	fetched := (c.of(sample.CacheMisses)+c.of(sample.CacheMappedMisses))*pageSize + c.of(sample.DirectReadBytes)
	if s.own.bytes < fetched/2 {
		return 0 // most of what it waits for comes from elsewhere
	}
	return max(0, v.waitTotal-v.wait[sample.ClassSync]-s.own.time)
}

// blamed is the share of the victim's waiting that others are to blame for.
func (c *Case) blamed(s *sharing) float64 {
	weight := c.deviceWeight()
	if s.outside > 0 {
		weight = c.part(s.own.time + s.outside)
	}
	return weight * s.excess() * s.blame(c.w.Seconds())
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
		c.figure(name, s.base, "seconds", sample.BlockDepthTime).as("base-latency"),
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
