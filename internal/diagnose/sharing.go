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
	latency float64 // mean seconds of one request of the victim's
	base    float64 // of such a request that is alone on the device
	bound   bool    // base is only an upper bound of it
}

// share is the part of the time that others have, 0 to 1.
func (s *sharing) share() float64 { return s.others / (s.own + s.others) }

// excess is the part of the victim's time on the device that it would not need
// alone, 0 to 1.
func (s *sharing) excess() float64 { return clamp01(1 - s.base/s.latency) }

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
	var ops float64
	for _, op := range []string{"read", "write"} {
		e := sample.Entity{PID: c.victim.pid, Device: c.device, Class: op}
		n, _ := w.Sum(sample.BlockOps, e)
		size, _ := w.Sum(sample.BlockBytes, e)
		ops += n
		if n > 0 {
			base, bound := c.aloneLatency(op, uint64(size/n))
			s.base += n * base
			s.bound = s.bound || bound
		}
	}
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
	if ops == 0 || s.own == 0 {
		s.why = "the victim has no requests of its own on " + c.device
		return s
	}
	s.latency, s.base = s.own/ops, s.base/ops
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

// aloneLatency is how long a request of a size takes that comes to an idle
// device: the mean of those that did, or if that is less, the lowest mean at
// any depth. Where none was seen alone the fastest percent of the device's
// requests is an upper bound.
func (c *Case) aloneLatency(op string, size uint64) (seconds float64, bound bool) {
	fastest, alone := 0.0, false
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

// sharingEvidence is what both causes show that blame another user.
func (c *Case) sharingEvidence(s *sharing) []Evidence {
	name := "alone on the device it takes"
	if s.bound {
		name = "fastest percent of requests"
	}
	return []Evidence{
		c.figure("its request takes", s.latency, "seconds", sample.BlockDeviceTime),
		c.figure(name, s.base, "seconds", sample.BlockDepthTime),
		c.figure("its requests in flight", s.own/c.w.Seconds(), "count", sample.BlockDeviceTime),
		c.figure("others' requests in flight", s.others/c.w.Seconds(), "count", sample.BlockDeviceTime),
	}
}
