package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// A device at a cap: throughput stays flat while the number in flight varies.
// Which cap it is, is told by what stays flatter where sizes vary, else by the
// size of one operation.

func deviceIOPSLimit() Cause {
	return Cause{
		ID: DeviceIOPSLimit, Title: "the device is at its limit of operations a second",
		Needs: [][]sample.Metric{{sample.BlockBinOps}, {sample.BlockOps}},
		Over:  []ID{DeviceQueueing, DeviceLatencyBound},
		Judge: func(c *Case) Verdict {
			return c.limit(func(d *deviceView) bool { return d.flat.FlatterOps() || !d.flat.FlatterBytes() && d.size <= smallIO },
				func(d *deviceView) Verdict {
					return Verdict{
						Disprove: "the rate of operations rises with more requests in flight",
						Advice: c.limitAdvice(
							"raise the device's limit of operations a second, or keep more in memory",
							fmt.Sprintf("the limit is about %.0f operations a second; more requests in flight gain nothing", d.ops),
							fmt.Sprintf("or make fewer, larger operations (now %s): larger blocks, neighbours merged", bytes(d.size))),
					}
				})
		},
	}
}

func deviceBandwidthLimit() Cause {
	return Cause{
		ID: DeviceBandwidthLimit, Title: "the device is at its limit of bytes a second",
		Needs: [][]sample.Metric{{sample.BlockBinBytes}, {sample.BlockBytes}},
		Over:  []ID{DeviceQueueing, DeviceLatencyBound},
		Judge: func(c *Case) Verdict {
			return c.limit(func(d *deviceView) bool { return d.flat.FlatterBytes() || !d.flat.FlatterOps() && d.size >= largeIO },
				func(d *deviceView) Verdict {
					return Verdict{
						Disprove: "the bandwidth rises with more requests in flight",
						Advice: c.limitAdvice(
							"read or write less (compress, cache, read only what is needed), or raise the device's bandwidth limit",
							"the limit is about "+bytes(d.bytes)+"/s; more requests in flight or larger blocks do not help", ""),
					}
				})
		},
	}
}

// limitAdvice is what to do about a limit, and with what a higher one gives; larger
// operations where that is something to do.
func (c *Case) limitAdvice(do, expect, larger string) []Advice {
	with := "with a limit twice as high"
	if text, _ := c.after(figure.OfLimit, 2); text != "" {
		with = "with " + text
	}
	all := []Advice{c.twiceTheLimit().advise(do, expect+"; "+with)}
	if larger != "" {
		all = append(all, Advice{Do: larger, Expect: "as many operations are more bytes, up to a limit of these"}.giving(c.after(figure.OfSize, 4)))
	}
	return all
}

// twiceTheLimit is what a limit twice as high gives: the waiting for it falls by half,
// down to what requests take alone on the device, where that is known.
func (c *Case) twiceTheLimit() promise {
	waits := c.victim.waitIO() + c.victim.lock
	if c.neverBlocks() {
		waits = c.inFlight()
	}
	o := c.ownLatency()
	sure := 0.0
	if o.base > 0 && o.latency > 0 {
		sure = waits * clamp01(1-o.base/o.latency)
	}
	return c.timesFaster(2, sure, waits-sure)
}

// limit judges one of the two caps; is tells whether a plateau is this cap.
func (c *Case) limit(is func(*deviceView) bool, verdict func(*deviceView) Verdict) Verdict {
	d, refused := c.slowDevice()
	if refused != nil {
		return *refused
	}
	if !d.flat.Found && c.w.Told {
		return c.noCapTold(&d)
	}
	if !d.flat.Found {
		switch {
		case d.flat.DepthRatio == 0:
			return no("too little I/O to see a plateau")
		case d.flat.DepthRatio < figure.DepthVaries:
			return no(fmt.Sprintf("a cap cannot be seen: the number in flight varied only %.1fx", d.flat.DepthRatio))
		}
		return no(fmt.Sprintf("the rate is not flat (varies %s) while the number in flight varies %.1fx",
			percent(min(d.flat.OpsCV, d.flat.BytesCV)), d.flat.DepthRatio))
	}
	if !is(&d) {
		if d.size > smallIO && d.size < largeIO {
			return cannotTell(fmt.Sprintf("the rate is flat, but all operations have one size (%s): operations and bytes cannot be told apart", bytes(d.size)))
		}
		return no("the rate is flat, but operations of " + bytes(d.size) + " point to the other limit")
	}
	v := verdict(&d)
	v.Answer = Yes
	v.Confidence = confidence(min(1-min(d.flat.OpsCV, d.flat.BytesCV)/figure.FlatCV, (d.flat.DepthRatio-figure.DepthVaries)/2+0.3), true)
	v.Weight = c.deviceWeight()
	v.Culprit = c.deviceCulprit()
	v.Evidence = append(c.deviceEvidence(&d),
		c.figure("variation of the rate", min(d.flat.OpsCV, d.flat.BytesCV), "ratio", sample.BlockBinOps),
		c.figure("largest to smallest number in flight", d.flat.DepthRatio, "ratio", sample.BlockBinTime))
	return v
}
