package diagnose

import (
	"fmt"
	"strings"

	"iocause/internal/sample"
)

// cloudVolumeLimit: a cloud's volume counts that more was asked of it than its cap.
func cloudVolumeLimit() Cause {
	return Cause{
		ID: CloudVolumeLimit, Title: "the cloud volume is at its cap", Needs: [][]sample.Metric{{sample.CloudExceeded}},
		Over: []ID{DeviceIOPSLimit, DeviceBandwidthLimit, DeviceQueueing, DeviceLatencyBound},
		Judge: func(c *Case) Verdict {
			return c.cloudLimit("volume", func(device, what string) Advice {
				return Advice{
					Do:     fmt.Sprintf("raise the %s of the volume behind %s (or take a larger or faster type), or ask less of it: cache more, larger operations for an operations cap, compression for a bytes cap", capOf(what), device),
					Expect: "the volume no longer counts time over its cap; what remains is its latency",
				}
			})
		},
	}
}

// cloudInstanceLimit: the same of the machine's link to all its volumes.
func cloudInstanceLimit() Cause {
	return Cause{
		ID: CloudInstanceLimit, Title: "the cloud machine is at its cap for volumes", Needs: [][]sample.Metric{{sample.CloudExceeded}},
		Over: []ID{DeviceIOPSLimit, DeviceBandwidthLimit, DeviceQueueing, DeviceLatencyBound},
		Judge: func(c *Case) Verdict {
			return c.cloudLimit("instance", func(device, what string) Advice {
				return Advice{
					Do:     fmt.Sprintf("take a machine type with a higher cap for %s to volumes (small types reach theirs for minutes only), or move a part of the load to another machine: a faster volume does not help", strings.ToLower(what)),
					Expect: "the cap counts for all volumes of the machine together",
				}
			})
		},
	}
}

// capOf is what a volume is sold with.
func capOf(what string) string {
	if what == "operations" {
		return "provisioned IOPS"
	}
	return "provisioned throughput"
}

// cloudLimit judges one of the two caps by the time that the storage counts over it.
func (c *Case) cloudLimit(of string, advice func(device, what string) Advice) Verdict {
	if c.w.Told && !c.w.Has(sample.CloudExceeded) {
		return c.toldLacks("whether a cloud's cap was exceeded is not in the text: paste nvme amzn stats DEVICE twice, some seconds apart (EBS), or run iocause diagnose while it happens")
	}
	if v := c.outOfDevice(); v != nil && !(c.w.Told && c.suffers()) {
		return *v
	}
	device, what, most, known := "", "", 0.0, false
	for _, d := range c.below(c.device) {
		for _, by := range []string{"operations", "bytes"} {
			t, ok := c.w.Sum(sample.CloudExceeded, sample.Entity{Device: d, Class: of + " " + by})
			if known = known || ok; ok && (device == "" || t > most) {
				device, what, most = d, by, t
			}
		}
	}
	s := c.w.Seconds()
	switch {
	case !known && c.w.Has(sample.HealthAsleep):
		if why := c.whyUnasked(sample.CloudExceeded); why != "" {
			return cannotTell(why)
		}
		return no(c.device + " is no cloud volume that counts this (EBS on NVMe does)")
	case !known:
		return cannotTell(c.w.WhyAbsent(sample.CloudExceeded))
	case most < weightLimit*s:
		return no(fmt.Sprintf("the cap of the %s was exceeded for %s of the window", of, percent(most/s)))
	}
	k := c.deviceCulprit()
	e := []Evidence{
		c.figureOf("time over the cap of the "+of+" in "+what, min(1, most/s), "ratio", sample.CloudExceeded, sample.Entity{Device: device, Class: of + " " + what}).as("time-over-the-cap"),
	}
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		at := sample.Entity{Device: device, Class: op}
		if n, _ := c.w.Sum(sample.CloudOps, at); n > 0 {
			t, _ := c.w.Sum(sample.CloudTime, at)
			e = append(e, c.figureOf(op+"s that the storage counts", n/s, "count/s", sample.CloudOps, at).as("operations-in-the-cloud"),
				c.figureOf("time of a "+op+" there", t/n, "seconds", sample.CloudTime, at).as("latency-in-the-cloud"))
		}
	}
	if n, ok := c.w.Value(sample.CloudQueue, sample.Entity{Device: device}); ok {
		e = append(e, c.figureOf("operations that wait there", n, "count", sample.CloudQueue, sample.Entity{Device: device}))
	}
	a := advice(device, what)
	return Verdict{
		Answer: Yes, Confidence: 0.95, Weight: c.deviceWeight() * min(1, most/s), Culprit: k, Evidence: e,
		Disprove: "the counters rise at times when the program is not slow",
		Advice:   []Advice{a.with("iocause disk --by health")},
	}
}

// whyUnasked is why devices below the victim's could not be asked, "" where none was
// to be.
func (c *Case) whyUnasked(m sample.Metric) string {
	for _, g := range c.w.Gaps {
		if g.Source != "health" {
			continue
		}
		for _, x := range g.Metrics {
			for _, d := range c.below(c.device) {
				if x == m && strings.Contains(g.Why, d) {
					return g.Why
				}
			}
		}
	}
	return ""
}
