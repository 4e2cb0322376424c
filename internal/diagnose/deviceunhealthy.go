package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// How slow a device must be for its health to be the reason: it answers seldom within
// that when it is well, however busy.
const (
	sickLatency = 10e-3  // mean, seconds; of a disk that rotates sickSpins times as much
	sickTail    = 100e-3 // the slowest percent: it tries again and again
	sickSpins   = 5
)

// sickness is what a device says of itself that makes it slow.
type sickness struct {
	device string
	rising []Evidence // what rose in the window: that makes it slow now
	now    []Evidence // what is so
}

// deviceUnhealthy: the device reports that it fails, wears out or is too hot, and is
// slow.
func deviceUnhealthy() Cause {
	return Cause{
		ID: DeviceUnhealthy, Title: "the device reports that it is failing, worn out or too hot",
		Needs: [][]sample.Metric{{sample.HealthWarnings}, {sample.BlockDeviceTime}},
		Over: append(deviceCauses(), ColdCache, CacheBusting, DirectIO, SyncWrites, DirtyThrottling, NoisyNeighbour,
			WritebackInterference, DeviceDegraded),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldUnhealthy()
			}
			if v := c.outOfDevice(); v != nil {
				return *v
			}
			var asked []string
			for _, d := range c.below(c.device) {
				if _, ok := c.w.Value(sample.HealthWarnings, sample.Entity{Device: d}); !ok {
					continue
				}
				asked = append(asked, d)
				if sick := c.sickness(d); len(sick.rising)+len(sick.now) > 0 {
					return c.sickVerdict(&sick)
				}
			}
			why := c.whyUnasked(sample.HealthWarnings)
			switch {
			case len(asked) > 0:
				return no(strings.Join(asked, ", ") + " reports no fault of its own")
			case why != "":
				return cannotTell(why)
			case c.w.Has(sample.HealthAsleep):
				return no(c.device + " is of a kind that is not asked for its health (a virtual disk, or one behind an adapter)")
			}
			return cannotTell(c.w.WhyAbsent(sample.HealthWarnings))
		},
	}
}

// sickness looks at what a device reports. Sectors that were replaced long ago, cables
// that once had errors, and wear are no reason to be slow.
func (c *Case) sickness(device string) sickness {
	sick := sickness{device: device}
	e := sample.Entity{Device: device}
	rose := func(m sample.Metric, of sample.Entity) float64 {
		if s := c.w.Get(m, of); s != nil && len(s.Points) > 1 {
			return s.Last() - s.Points[0].Value
		}
		return 0
	}
	c.w.Each(sample.HealthErrors, func(of sample.Entity, s *sample.Series) {
		if of.Device != device || of.Class == "error log entries" {
			return
		}
		if n := rose(sample.HealthErrors, of); n > 0 {
			sick.rising = append(sick.rising, c.figureOf("rise of "+of.Class, n, "count", sample.HealthErrors, of).as("rise-of-errors"))
		}
		if of.Class == "pending sectors" && s.Last() > 0 {
			sick.now = append(sick.now, c.figureOf(of.Class, s.Last(), "count", sample.HealthErrors, of).as("errors"))
		}
	})
	for m, name := range map[sample.Metric]string{sample.HealthHot: "time too hot in the window", sample.HealthThrottled: "time throttled against heat in the window"} {
		if t := rose(m, e); t > 0 {
			sick.rising = append(sick.rising, c.figureOf(name, t, "seconds", m, e).as("time-too-hot"))
		}
	}
	c.w.Each(sample.HealthWarnings, func(of sample.Entity, s *sample.Series) {
		if of.Device == device && of.Class != "" && s.Last() > 0 {
			sick.now = append(sick.now, c.figureOf("warning: "+of.Class, 1, "count", sample.HealthWarnings, of).as("warnings"))
		}
	})
	for _, all := range [][]Evidence{sick.rising, sick.now} {
		slices.SortFunc(all, func(a, b Evidence) int { return cmp.Compare(a.Name, b.Name) })
	}
	return sick
}

// sickVerdict holds what a device reports against how slow it is.
func (c *Case) sickVerdict(sick *sickness) Verdict {
	var all load
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		all.add(c.requestsOf(sick.device, op))
	}
	h := c.deviceTimes(sick.device)
	if !c.w.Has(sample.BlockDeviceTime) {
		return cannotTell(sick.device + " reports a fault, but how slow it is is not known: " + c.w.WhyAbsent(sample.BlockDeviceTime))
	}
	if all.ops == 0 {
		return no(sick.device + " reports a fault, but did no I/O")
	}
	mean, tail, limit := all.time/all.ops, 0.0, sickLatency
	if spins, _ := c.w.Value(sample.DeviceRotate, sample.Entity{Device: sick.device}); spins == 1 {
		limit *= sickSpins
	}
	if h.N() >= 100 {
		tail = h.Quantile(0.99) / 1e9
	}
	first := append(slices.Clone(sick.rising), sick.now...)[0].Name
	if mean < limit && tail < sickTail && len(sick.rising) == 0 {
		return no(fmt.Sprintf("%s reports a fault (%s), but answers in %s: that is not what slows it down; save its data all the same", sick.device, first, duration(mean)))
	}
	e := append(slices.Clone(sick.rising), sick.now...)
	e = append(e, c.figureOf("time of a request", mean, "seconds", sample.BlockDeviceTime, sample.Entity{Device: sick.device, Class: sample.ClassRead}))
	if tail > 0 {
		e = append(e, c.figure("slowest percent of requests, longer than", tail, "seconds", sample.HistDevice))
	}
	conf := 0.75
	if len(sick.rising) > 0 {
		conf = 0.9
	}
	k := c.deviceCulprit()
	k.Device = sick.device
	do := fmt.Sprintf("save the data of %s and replace it", sick.device)
	if strings.Contains(first, "hot") || strings.Contains(first, "temperature") {
		do = fmt.Sprintf("cool %s: its fan, heat sink and the air around it; a device that is too hot slows itself down", sick.device)
	}
	command := "smartctl -a /dev/" + sick.device
	if strings.HasPrefix(sick.device, "nvme") {
		command = "nvme smart-log /dev/" + sick.device
	}
	return Verdict{
		Answer: Yes, Confidence: conf, Weight: c.deviceWeight(), Culprit: k, Evidence: e,
		Disprove: "another device of the same kind and without such a report is as slow under the same load",
		Advice:   []Advice{Advice{Do: do, Expect: "the report is gone, and requests take what they take on a healthy device"}.with(command, sick.device)},
	}
}
