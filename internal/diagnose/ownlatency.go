package diagnose

import (
	"math/bits"

	"iocause/internal/sample"
)

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

// syncs tells of a victim that waits mostly for what it wrote to be on the device.
func (c *Case) syncs() bool {
	return !c.w.Told && 2*c.syncWait() > c.victim.waitTotal+c.victim.pause
}

// ownLatency is the latency of the victim's own requests on its device.
func (c *Case) ownLatency() ownLatency {
	var o ownLatency
	var queue, device float64
	ops := []string{sample.ClassRead, sample.ClassWrite}
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
	e := sample.Entity{Device: c.device, Class: sample.ClassFlush}
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
		of, ok := sample.ParseIOClass(e.Class)
		if !ok || of.Op != op || bits.Len64(of.Size) != bits.Len64(size) {
			return
		}
		n := s.Sum()
		if t, ok := c.w.Sum(sample.BlockDepthTime, e); ok && n >= baseOps && (fastest == 0 || t/n < fastest) {
			fastest = t / n
		}
		alone = alone || of.Depth == 1 && n >= baseOps
	})
	if one := c.oneTook(); one > 0 && (!alone || one < fastest) {
		return one, false
	}
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
	t, _ := c.was.aloneOn(c.device, op, 1<<max(0, bits.Len64(size)-1))
	return t
}

// comparable tells whether the device was the same before, and no faster.
func (c *Case) comparable() bool {
	return c.before != nil && c.before.Unknown == "" && c.anotherDevice() == "" && !c.slowerDevice()
}
