package diagnose

import (
	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Thresholds of the device causes.
const (
	queueingRatio = 1.5      // latency against the base latency
	baseOps       = 20       // operations at depth 1 that make a base latency
	baseMany      = 1000     // from here on one that was held up does not move their mean
	crowd         = 4        // mean in flight from which a request rarely ends alone
	smallIO       = 32 << 10 // bytes; up to here a flat rate means operations
	largeIO       = 64 << 10 // from here on it means bandwidth

	// "far fewer in flight than usual": depths are counted in powers of two,
	// and a quarter is two of them away from the mean.
	crowdOverShallow = 4
)

// deviceView is what one device did during the window.
type deviceView struct {
	known     bool
	why       string
	ops       float64 // a second
	bytes     float64 // a second
	depth     float64 // mean requests in flight, by Little's law
	latency   float64 // mean seconds from start to completion
	queued    float64 // share of that spent before the device got it
	size      float64 // mean bytes of one operation
	base      float64 // seconds at depth 1, for the same mix of sizes; 0 not known
	baseBound bool    // base is only an upper bound (the fastest percent)
	assumed   bool    // base is that of a hard disk, for want of any figure
	baseSure  bool    // base is of requests that had the device to themselves to the end
	flat      figure.Plateau
	maxDepth  float64
}

// ratio is the latency against the base latency, 0 when that is not known.
func (d *deviceView) ratio() float64 {
	if d.base == 0 {
		return 0
	}
	return d.latency / d.base
}

// slowDevice is the victim's device, for a cause that lies there; refused is the
// answer where nothing is known of it, or where it is not what the victim waits for.
func (c *Case) slowDevice() (d deviceView, refused *Verdict) {
	d = c.deviceFacts()
	if !d.known {
		return d, refuse(cannotTell(d.why))
	}
	if why := c.deviceOut(&d); why != "" {
		return d, refuse(no(why))
	}
	return d, nil
}

// asynchronous tells whether more is in flight than one request a thread.
func (d *deviceView) asynchronous(v *victim) bool { return d.depth > 1.5*max(1, v.threads) }

func (c *Case) deviceFacts() deviceView {
	w, dev := c.w, c.device
	if !w.Has(sample.BlockOps) && w.Told {
		return c.deviceTold()
	}
	if !w.Has(sample.BlockOps) {
		return deviceView{why: w.WhyAbsent(sample.BlockOps)}
	}
	if dev == "" {
		return deviceView{known: true, why: "no device did any I/O"}
	}
	var ops, size, queue, device float64
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		e := sample.Entity{Device: dev, Class: op}
		n, _ := w.Sum(sample.BlockOps, e)
		b, _ := w.Sum(sample.BlockBytes, e)
		q, _ := w.Sum(sample.BlockQueueTime, e)
		t, _ := w.Sum(sample.BlockDeviceTime, e)
		ops, size, queue, device = ops+n, size+b, queue+q, device+t
	}
	if ops == 0 {
		return deviceView{known: true, why: dev + " did no I/O"}
	}
	s := w.Seconds()
	d := deviceView{
		known: true, ops: ops / s, bytes: size / s, latency: (queue + device) / ops,
		depth: (queue + device) / s, queued: queue / (queue + device), size: size / ops,
	}
	d.maxDepth, _ = w.Value(sample.BlockMaxFlight, sample.Entity{Device: dev})
	d.base, d.baseBound, d.baseSure = c.baseLatency(&d)
	if one := c.oneTook(); one > 0 && (d.base == 0 || one < d.base) {
		d.base, d.baseBound, d.baseSure = one, false, true
	}
	d.flat = c.findPlateau()
	return d
}

// alone is the mean latency of requests of a size that had the device to
// themselves from start to completion, 0 when there were too few.
func (c *Case) alone(op string, size uint64) float64 {
	t, _ := c.aloneOn(c.device, op, size)
	return t
}

func (c *Case) aloneOn(device, op string, size uint64) (seconds, ops float64) {
	e := sample.Entity{Device: device, Class: sample.IOClass{Op: op, Size: size}.String()}
	ops, _ = c.w.Sum(sample.BlockAloneOps, e)
	t, _ := c.w.Sum(sample.BlockAloneTime, e)
	if ops < baseOps {
		return 0, ops
	}
	return t / ops, ops
}

// baseLatency is the latency of a request that is alone on the device, for the
// sizes that make up the load, weighed as they occur; a lower mean at another
// depth is taken instead, since a request that opens a batch also waits for
// the rest of it; sure is false then, and true where most had the device to
// themselves to the end. A crowd that never leaves the device alone is judged
// by the requests that came when far fewer than usual were in flight. Where no
// size was seen either way often enough, or where all of a crowd take about as
// long and the device does no more with more in flight, the fastest percent of
// all is an upper bound of it.
func (c *Case) baseLatency(d *deviceView) (seconds float64, bound, sure bool) {
	type class struct {
		op   string
		size uint64
	}
	all, shallow, fastest := map[class]float64{}, map[class]float64{}, map[class]float64{}
	c.w.Each(sample.BlockDepthOps, func(e sample.Entity, s *sample.Series) {
		if e.Device != c.device {
			return
		}
		of, ok := sample.ParseIOClass(e.Class)
		if !ok {
			return
		}
		k, depth := class{of.Op, of.Size}, of.Depth
		n := s.Sum()
		all[k] += n
		if depth == 1 || float64(depth) <= d.depth/crowdOverShallow {
			shallow[k] += n
		}
		if t, ok := c.w.Sum(sample.BlockDepthTime, e); ok && n >= baseOps {
			if old, ok := fastest[k]; !ok || t/n < old {
				fastest[k] = t / n
			}
		}
	})
	var covered, total, sum, toEnd, many float64
	for k, n := range all {
		total += n
		if t, ops := c.aloneOn(c.device, k.op, k.size); t > 0 {
			covered += n
			toEnd += n
			if ops >= baseMany {
				many += n
			}
			sum += n * min(t, fastest[k])
		} else if shallow[k] >= baseOps {
			covered += n
			sum += n * fastest[k]
		}
	}
	h := c.deviceTimes(c.device)
	if total > 0 && covered >= 0.5*total {
		base := sum / covered
		crowded := d.depth >= crowd || d.asynchronous(&c.victim)
		if crowded && h.N() >= 100 && many < 0.5*total {
			// one that comes to an empty device opens a batch: it is slowed
			// down by those that are submitted behind it, and by threads that
			// take the processor from a device made of software
			base = min(base, h.Quantile(0.10)/1e9)
			if base*queueingRatio > d.latency && toEnd < 0.5*total && !grows(c.depthRates()) {
				// none of these came to an idle device: what all of a steady
				// crowd take is no base latency
				return h.Quantile(0.01) / 1e9, true, false
			}
		}
		return base, false, toEnd >= 0.5*total
	}
	if h.N() < 100 {
		return 0, false, false
	}
	return h.Quantile(0.01) / 1e9, true, false
}

// deviceTimes are the times of all reads and writes of a device.
func (c *Case) deviceTimes(device string) (h sample.Histogram) {
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		if one := c.w.Histogram(sample.HistDevice, sample.Entity{Device: device, Class: op}); one != nil {
			h.Merge(&one.Histogram)
		}
	}
	return h
}

// oneByOne tells whether a device is known to serve one request at a time: a loop
// device whose file is in the page cache has one worker for each cgroup (loop.c).
func (c *Case) oneByOne(device string) bool {
	n, ok := c.w.Value(sample.DeviceKind, sample.Entity{Device: device, Class: "loop"})
	return ok && n == 1
}

// oneTook is how many seconds a request took of a device that serves one at a time, and
// has a crowd: it did so many a second, one after the other. 0 of others.
func (c *Case) oneTook() float64 {
	if !c.oneByOne(c.device) {
		return 0
	}
	var l load
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		l.add(c.requestsOf(c.device, op))
	}
	if s := c.w.Seconds(); l.time >= crowd*s {
		return s / l.ops
	}
	return 0
}

// findPlateau looks for a cap of the device.
func (c *Case) findPlateau() figure.Plateau {
	bins := figure.DeviceBins(c.w, c.device)
	if c.w.Told && !c.w.Has(sample.BlockBinOps) {
		bins = c.toldBins()
	}
	return figure.FindPlateau(bins)
}

// deviceOut says why the device causes are out of the question, "" when not.
func (c *Case) deviceOut(d *deviceView) string {
	switch {
	case !c.suffers():
		return "no program waits for I/O long enough to matter"
	case d.why != "":
		return d.why
	case d.depth < 0.05:
		return c.device + " is idle most of the time"
	}
	return ""
}

// deviceEvidence is what every device cause shows.
func (c *Case) deviceEvidence(d *deviceView) []Evidence {
	if c.w.Told {
		return c.deviceEvidenceTold(d)
	}
	e := []Evidence{
		c.figure("operations on "+c.device, d.ops, "count/s", sample.BlockOps).as("operations"),
		c.figure("bandwidth of "+c.device, d.bytes, "bytes/s", sample.BlockBytes).as("bandwidth"),
		c.figure("latency", d.latency, "seconds", sample.BlockDeviceTime),
		c.figure("of that queued before the device", d.queued, "ratio", sample.BlockQueueTime),
		c.figure("mean in flight", d.depth, "count", sample.BlockDeviceTime),
	}
	if d.base > 0 {
		name := "base latency (one in flight)"
		if d.baseBound {
			name = "fastest percent of requests"
		}
		e = append(e, c.figure(name, d.base, "seconds", sample.BlockDepthTime).as("base-latency"))
	}
	return e
}

// deviceCulprit is the victim on its device.
func (c *Case) deviceCulprit() Culprit {
	k := c.victimCulprit()
	c.at(&k, c.topFile(c.device, c.usual()...))
	return c.toldCulprit(k)
}
