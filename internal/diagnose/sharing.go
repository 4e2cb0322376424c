package diagnose

import (
	"fmt"
	"math/bits"

	"iocause/internal/sample"
)

// Thresholds of the causes that blame another user of the device.
const (
	othersLimit = 0.50 // share of the time in the block layer that others have
	othersDepth = 0.50 // mean requests of theirs in flight; fewer are seldom in the way
)

// sharing is how a device was shared during the window. Times are seconds in
// the block layer and on the device, summed over requests, and so in
// proportion to how many each user has in flight.
type sharing struct {
	why     string  // why nothing can be said, or nobody else is to blame; "" when somebody may be
	missing bool    // why is what is missing
	own     float64 // the victim's time
	others  float64 // everybody else's, the flusher's included
	flusher float64 // what the kernel writes back from the page cache
	rival   int     // the process with most time among the others but the flusher
	rivals  float64 // time of all of these
	most    float64 // the rival's
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

// ownLatency is the latency of the victim's own requests on its device.
func (c *Case) ownLatency() ownLatency {
	var o ownLatency
	var queue, device float64
	for _, op := range []string{"read", "write"} {
		e := sample.Entity{PID: c.victim.pid, Device: c.device, Class: op}
		n, _ := c.w.Sum(sample.BlockOps, e)
		if n == 0 {
			continue
		}
		size, _ := c.w.Sum(sample.BlockBytes, e)
		q, _ := c.w.Sum(sample.BlockQueueTime, e)
		d, _ := c.w.Sum(sample.BlockDeviceTime, e)
		o.ops, queue, device = o.ops+n, queue+q, device+d
		base, bound := c.aloneLatency(op, uint64(size/n))
		if bound {
			if then := c.aloneBefore(op, uint64(size/n)); then > 0 {
				base, bound, o.before = then, false, true
			}
		}
		o.base += n * base
		o.bound = o.bound || bound
	}
	if o.ops > 0 && queue+device > 0 {
		o.latency, o.base, o.queued = (queue+device)/o.ops, o.base/o.ops, queue/(queue+device)
	}
	return o
}

// share is the part of the time that others have, 0 to 1.
func (s *sharing) share() float64 { return s.others / (s.own + s.others) }

// shared finds out who else uses the victim's device, and what that costs the
// victim.
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
	by := c.deviceTimes()
	s.ownLatency = c.ownLatency()
	s.own = by[c.victim.pid].total
	flushes := c.flushes()
	for pid, t := range by {
		if pid == c.victim.pid {
			continue
		}
		s.others += t.total
		if flushes && w.Processes[pid].Kernel {
			s.flusher += t.write
			t.total -= t.write
		}
		s.rivals += t.total
		if t.total > s.most || t.total == s.most && t.total > 0 && pid < s.rival {
			s.rival, s.most = pid, t.total
		}
	}
	if s.latency == 0 || s.own == 0 {
		s.why = "the victim has no requests of its own on " + c.device
		return s
	}
	switch {
	case s.share() < othersLimit:
		s.why = fmt.Sprintf("others have %s of the requests' time on %s", percent(s.share()), c.device)
	case s.others < othersDepth*w.Seconds():
		s.why = fmt.Sprintf("others have only %.2f requests in flight on %s on average", s.others/w.Seconds(), c.device)
	case s.base == 0:
		s.why, s.missing = "it is not known how long the victim's requests take when they are alone on "+c.device, true
	case s.latency < queueingRatio*s.base:
		s.why = fmt.Sprintf("its requests take %s, beside others no more than alone (%s)", duration(s.latency), duration(s.base))
	}
	return s
}

// deviceTime is one process's time on a device.
type deviceTime struct{ total, write float64 }

// deviceTimes is every process's time on the victim's device.
func (c *Case) deviceTimes() map[int]deviceTime {
	by := map[int]deviceTime{}
	for _, m := range []sample.Metric{sample.BlockQueueTime, sample.BlockDeviceTime} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.Device != c.device || e.PID == 0 || e.Class != "read" && e.Class != "write" {
				return
			}
			t := by[e.PID]
			t.total += s.Sum()
			if e.Class == "write" {
				t.write += s.Sum()
			}
			by[e.PID] = t
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
	if c.before == nil || c.before.Unknown != "" || c.anotherDevice() != "" || c.slowerDevice() {
		return 0
	}
	return c.was.aloneOn(c.device, op, 1<<max(0, bits.Len64(size)-1))
}

// sharingEvidence is what both causes show that blame another user.
func (c *Case) sharingEvidence(s *sharing) []Evidence {
	name := "alone on the device it takes"
	switch {
	case s.bound:
		name = "fastest percent of requests"
	case s.before:
		name = "alone on the device it took before"
	}
	return []Evidence{
		c.figure("its request takes", s.latency, "seconds", sample.BlockDeviceTime),
		c.figure(name, s.base, "seconds", sample.BlockDepthTime),
		c.figure("its requests in flight", s.own/c.w.Seconds(), "count", sample.BlockDeviceTime),
		c.figure("others' requests in flight", s.others/c.w.Seconds(), "count", sample.BlockDeviceTime),
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
