package diagnose

import (
	"fmt"
	"time"

	"iocause/internal/sample"
)

// Thresholds of microbursts.
const (
	burstPeak    = 0.50 // of the peak rate: from here on a hundredth of a second is part of a burst
	burstEdge    = 0.10 // of the peak rate: down to here its rise and its end belong to it
	burstAverage = 0.50 // of the peak rate: a second below it looks calm
	burstShare   = 0.70 // of the requests and of their time that bursts must have
	burstsNeeded = 5
	// Operations of a burst, on average. Where a disk ends fewer than a hundred a
	// second, each is alone in its hundredth of a second, and a peak beside nothing;
	// two threads make pairs of them. A handful at once is what can be spread.
	burstOps    = 4
	burstLength = 0.25 // seconds; what lasts longer shows in ordinary averages
)

const fineBin = 10 * time.Millisecond

// burstView is what a device did in hundredths of a second.
type burstView struct {
	peak    float64 // operations a second at which the median operation is served
	mean    float64 // operations a second over the window
	calm    float64 // share of the operations done in seconds below half the peak
	share   float64 // of the time of requests that bursts have
	latency float64 // mean seconds of a request in a burst
	count   int     // bursts
	length  float64 // mean seconds of one
	each    float64 // mean operations of one
	leader  int     // the process that has most of the time in bursts; 0: nobody
	led     float64 // share of the time in bursts that it leads
}

// microbursts: for milliseconds more comes than the device can take, though on
// average it has little to do.
func microbursts() Cause {
	return Cause{
		ID: Microbursts, Title: "bursts of requests that last milliseconds overload the device",
		Needs: [][]sample.Metric{{sample.BlockFineOps}, {sample.BlockDepthOps}},
		Over:  []ID{DeviceIOPSLimit, DeviceBandwidthLimit, DeviceQueueing, DeviceLatencyBound, NoisyNeighbour},
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.BlockOps) || !c.w.Has(sample.BlockFineOps) && c.w.Has(sample.BlockBinOps) {
				return cannotTell(c.w.WhyAbsent(sample.BlockFineOps))
			}
			d, refused := c.slowDevice()
			if refused != nil {
				return *refused
			}
			b := c.bursts()
			base, bound, need := c.burstBase(&d)
			if why := c.noBursts(&b, base, need); why != nil {
				return *why
			}
			if b.count < burstsNeeded {
				return cannotTell(tooFewBursts(b.count))
			}
			name := "alone on the device"
			if bound {
				name = "fastest percent of requests"
			}
			k := c.deviceCulprit()
			if b.leader != 0 && b.leader != c.victim.pid {
				p := c.w.Processes[b.leader]
				k = Culprit{PID: b.leader, Comm: p.Comm, Cgroup: p.MemoryCgroup, Device: c.device}
				c.at(&k, c.fileOf(b.leader, c.device))
			}
			gain := (1 - base/b.latency) * b.share
			conf := confidence((b.latency/base-need)/3+(1-b.mean/b.peak/burstAverage)/2, true)
			if bound {
				conf *= 0.85
			}
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: c.deviceWeight() * gain, Culprit: k,
				Evidence: []Evidence{
					c.figure("operations on "+c.device+" on average", b.mean, "count/s", sample.BlockOps).as("operations-on-average"),
					c.figure("in a burst", b.peak, "count/s", sample.BlockFineOps),
					c.figure("bursts", float64(b.count)/c.w.Seconds(), "count/s", sample.BlockFineOps),
					c.figure("mean length of a burst", b.length, "seconds", sample.BlockFineOps),
					c.figure("operations of a burst", b.each, "count", sample.BlockFineOps),
					c.figure("latency in bursts", b.latency, "seconds", sample.BlockFineTime),
					c.figure(name, base, "seconds", sample.BlockDepthTime).as("base-latency"),
					c.figure("time of requests that is in bursts", b.share, "ratio", sample.BlockFineTime),
					c.figure("of that led by the culprit", b.led, "ratio", sample.BlockFineTime),
				},
				Disprove: "latency stays the same when the requests come evenly spread",
				Advice: []Advice{{
					Do: fmt.Sprintf("spread the requests: %.0f a second on average, with at most %.0f at a time instead of about %.0f in one burst",
						b.mean, max(1, b.peak*base), b.each),
					Expect: fmt.Sprintf("latency falls from %s towards %s; the device serves %.0f a second in a burst",
						duration(b.latency), duration(base), b.peak),
				}, {
					Do:     "or, if a limit cuts the bursts off, raise it or allow bursts",
					Expect: "bursts then end sooner",
				}},
			}
		},
	}
}

// noBursts is the verdict where bursts are not what overloads the device, nil where they
// are, however few.
func (c *Case) noBursts(b *burstView, base, need float64) *Verdict {
	var v Verdict
	switch {
	case b.count == 0:
		v = no("there is no burst")
	case b.mean >= burstAverage*b.peak || b.calm < 0.9:
		v = no(fmt.Sprintf("the load is steady: on average %s of what the device does at its busiest", percent(b.mean/b.peak)))
	case b.each < burstOps:
		v = no(fmt.Sprintf("with %.1f requests at a time there is no burst", b.each))
	case b.length > burstLength:
		v = no("the bursts last " + duration(b.length) + ", which shows in ordinary averages")
	case b.share < burstShare:
		v = no(fmt.Sprintf("only %s of the request time is in bursts", percent(b.share)))
	case base == 0:
		v = cannotTell("no request was seen alone on the device, so its base latency is not known")
	case b.latency < need*base:
		v = no(fmt.Sprintf("in bursts requests take %s, no longer than alone (%s): the device serves them at once",
			duration(b.latency), duration(base)))
	case c.w.Processes[b.leader].Kernel && c.flushes():
		v = no("the bursts are the kernel's writeback")
	default:
		return nil
	}
	return &v
}

// fewBursts is the number of bursts that make the queue at the victim's device, where they
// are too few to tell whether they come again and again, else 0.
func (c *Case) fewBursts(d *deviceView) int {
	b := c.bursts()
	if b.count == 0 || b.count >= burstsNeeded {
		return 0
	}
	if base, _, need := c.burstBase(d); c.noBursts(&b, base, need) != nil {
		return 0
	}
	return b.count
}

func tooFewBursts(n int) string {
	return fmt.Sprintf("the waiting is in %s, too few to tell whether they come again and again: observe longer", sample.Counted(float64(n), "burst"))
}

// burstBase is the base latency and by how much latency in bursts must exceed
// it. A request that comes to an idle device only opens a burst: where none had
// the device to itself to the end, the fastest percent is a better bound.
func (c *Case) burstBase(d *deviceView) (base float64, bound bool, need float64) {
	if d.baseSure || d.base == 0 {
		return d.base, false, queueingRatio
	}
	if d.baseBound {
		return d.base, true, 2 * queueingRatio
	}
	h := c.deviceTimes(c.device)
	if h.N() < 100 {
		return d.base, true, 2 * queueingRatio
	}
	return min(d.base, h.Quantile(0.01)/1e9), true, 2 * queueingRatio
}

// bursts looks for bursts on the victim's device.
func (c *Case) bursts() burstView {
	n := int(c.w.Length/fineBin) + 1
	ops, times, leaders := make([]float64, n), make([]float64, n), make([]int, n)
	c.w.Each(sample.BlockFineOps, func(e sample.Entity, s *sample.Series) {
		took := c.w.Get(sample.BlockFineTime, e)
		if e.Device != c.device || took == nil {
			return
		}
		for i, p := range s.Points {
			// a point stands at the end of its bin, give or take the clocks
			if at := int((p.At - fineBin/2) / fineBin); at >= 0 && at < n && i < len(took.Points) {
				ops[at] += p.Value
				times[at] += took.Points[i].Value
				leaders[at] = e.PID
			}
		}
	})
	var b burstView
	var total, time float64
	for i := range ops {
		total += ops[i]
		time += times[i]
	}
	if total == 0 {
		return b
	}
	b.peak = weightedMedian(ops) / fineBin.Seconds()
	b.mean = total / c.w.Seconds()
	perSecond := int(1e9 / fineBin)
	for at := 0; at < n; at += perSecond {
		sum := 0.0
		second := ops[at:min(at+perSecond, n)]
		for _, v := range second {
			sum += v
		}
		if sum < burstAverage*b.peak*float64(len(second))*fineBin.Seconds() {
			b.calm += sum / total
		}
	}
	var inBurst, operations, bins float64
	by := map[int]float64{}
	peak := b.peak * fineBin.Seconds()
	for i := 0; i < n; {
		end, top := i, 0.0
		for end < n && ops[end] >= burstEdge*peak && ops[end] > 0 {
			top = max(top, ops[end])
			end++
		}
		if top >= burstPeak*peak {
			b.count++
			for at := i; at < end; at++ {
				operations += ops[at]
				inBurst += times[at]
				by[leaders[at]] += times[at]
			}
			bins += float64(end - i)
		}
		i = max(end, i+1)
	}
	b.share = inBurst / time
	b.latency = inBurst / operations
	b.length = bins * fineBin.Seconds() / float64(b.count)
	b.each = operations / float64(b.count)
	b.leader = most(by)
	b.led = by[b.leader] / inBurst
	return b
}
