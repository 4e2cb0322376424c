package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// deviceQueueing: more is in flight than the device serves at its base
// latency, below any cap that was shown.
func deviceQueueing() Cause {
	return Cause{
		ID: DeviceQueueing, Title: "more I/O is in flight than the device serves at its base latency",
		Needs: [][]sample.Metric{{sample.BlockDepthOps}, {sample.BlockDeviceTime}},
		Over:  []ID{DeviceLatencyBound},
		Judge: func(c *Case) Verdict {
			d, refused := c.slowDevice()
			if refused != nil {
				return *refused
			}
			if d.flat.Found {
				return no("the device is at a cap: its rate is flat while the number in flight varies")
			}
			if d.depth < 1.5 {
				return no(fmt.Sprintf("on average only %.1f requests are in flight", d.depth))
			}
			r := d.ratio()
			need := queueingRatio
			if d.baseBound {
				need = 2 * queueingRatio // the true base is lower than the bound, but requests differ
			}
			switch {
			case d.queued >= 0.33:
			case d.base == 0:
				return cannotTell("no request was seen alone on the device, so its base latency is not known")
			case r < need && d.baseBound:
				return cannotTell(fmt.Sprintf("latency is %.1fx that of the fastest requests, but none was seen alone on the device", r))
			case r < need:
				return no(fmt.Sprintf("latency is %.1fx the base latency", r))
			}
			if n := c.fewBursts(&d); n > 0 {
				return cannotTell(tooFewBursts(n))
			}
			conf := confidence((r-need)/3+0.2, true)
			if d.baseBound {
				conf *= 0.85
			}
			// alone, each of the victim's requests would still take its base latency
			weight := c.deviceWeight()
			if own := c.ownLatency(); own.latency > 0 && own.base > 0 {
				weight *= own.excess()
			} else if d.base > 0 {
				weight *= max(d.queued, 1-d.base/d.latency)
			}
			e := append(c.deviceEvidence(&d), Evidence{
				Name: "latency to base latency", Value: r, Unit: "ratio", Source: c.sourceOf(sample.BlockDepthTime),
			})
			if c.oneByOne(c.device) {
				e = append(e, c.figure("requests that this loop device serves at a time", 1, "count", sample.DeviceKind).as("served-at-a-time"))
			}
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: weight, Culprit: c.deviceCulprit(), Evidence: e,
				Disprove: "one request in flight takes as long",
				Advice:   c.queueAdvice(&d),
			}
		},
	}
}
