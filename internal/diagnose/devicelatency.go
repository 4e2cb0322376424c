package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// deviceLatencyBound: one (or N) requests at a time; each waits for the one
// before, and the device is far below what it could do.
func deviceLatencyBound() Cause {
	return Cause{
		ID: DeviceLatencyBound, Title: "one request at a time: the device's latency limits the rate",
		Needs: [][]sample.Metric{{sample.BlockDepthOps}, {sample.BlockDeviceTime}},
		Judge: func(c *Case) Verdict {
			d, refused := c.slowDevice()
			if refused != nil {
				return *refused
			}
			if d.flat.Found {
				return no("the device is at a cap: its rate is flat while the number in flight varies")
			}
			if d.queued >= 0.33 {
				return no("requests wait " + percent(d.queued) + " of their time before the device gets them")
			}
			if d.base == 0 {
				return cannotTell("no request was seen alone on the device, so its base latency is not known")
			}
			r := d.ratio()
			if d.depth >= 1.5 && (d.baseBound || r >= queueingRatio) {
				return no(fmt.Sprintf("%.1f requests are in flight on average and take %.1fx the base latency", d.depth, r))
			}
			if d.asynchronous(&c.victim) && d.depth >= crowd {
				return cannotTell(fmt.Sprintf("%.1f requests of %.0f waiting threads are in flight and take %.1fx the base latency: that shows neither one request at a time nor queueing",
					d.depth, max(1, c.victim.threads), r))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((queueingRatio-r)/queueingRatio+0.3, true),
				Weight: c.deviceWeight(), Culprit: c.deviceCulprit(),
				Evidence: append(c.deviceEvidence(&d), Evidence{
					Name: "operations a second x latency", Value: d.ops * d.latency, Unit: "count", Source: c.sourceOf(sample.BlockOps),
				}),
				Disprove: "the rate stays the same with twice as many requests in flight",
				Advice:   c.aheadAdvice(&d),
			}
		},
	}
}
