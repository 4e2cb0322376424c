package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// Thresholds of device-degraded.
const (
	// Of the time of the device's requests, what must be in requests of a size
	// and at a depth that were seen before: else the load is another one.
	degradedAlike = 0.50
	// By how much the device may do more than before: beyond that it is not
	// the same load, whatever it is made of.
	degradedLoad = 1.25
	// By how much the share of requests in sequence may fall: a disk that seeks
	// and one that does not are two devices.
	degradedPattern = 0.25
)

// alike sets the latencies of two windows side by side, by operation, size and
// number in flight.
type alike struct {
	ops      float64 // requests that have their like in the other window
	time     float64 // what they took, in seconds
	expected float64 // what they would have taken then
	covered  float64 // share of the time of all requests
}

// deviceDegraded: the device answers more slowly than it did, asked for the same.
func deviceDegraded() Cause {
	return Cause{
		ID: DeviceDegraded, Title: "the device is slower than before for the same requests", Compares: true,
		Needs: [][]sample.Metric{{sample.BlockDepthOps}, {sample.BlockDepthTime}},
		Over: append(deviceCauses(), ColdCache, MetadataBound, CacheBusting, DirectIO, SyncWrites, DirtyThrottling,
			WritebackInterference),
		Judge: func(c *Case) Verdict {
			if v, out := c.uncompared(); out {
				return v
			}
			_, refused := c.slowDevice()
			if refused != nil {
				return *refused
			}
			if !c.before.Window.Has(sample.BlockDepthOps) {
				return cannotTell("before: " + c.before.Window.WhyAbsent(sample.BlockDepthOps))
			}
			if why := c.anotherDevice(); why != "" {
				return no(why)
			}
			was := c.was.deviceLoad(c.device)
			now := c.deviceLoad(c.device)
			if was.ops == 0 {
				return cannotTell(c.device + " did no I/O before")
			}
			if f := c.fresh(); slices.ContainsFunc(f, crowds) {
				return no(fmt.Sprintf("a cause that did not apply before explains it: %s", list(f)))
			}
			if now.bytes > degradedLoad*was.bytes || now.ops > degradedLoad*was.ops {
				return no(fmt.Sprintf("%s is busier than before: now %s/s in %.0f operations/s, before %s/s in %.0f", c.device,
					bytes(now.bytes), now.ops, bytes(was.bytes), was.ops))
			}
			a := c.alike()
			if a.covered < degradedAlike {
				return cannotTell(fmt.Sprintf("too few requests to compare: only %s of the request time was at a size and queue depth that occurred before", percent(a.covered)))
			}
			if was.inSequence-now.inSequence > degradedPattern {
				return cannotTell(fmt.Sprintf("the access pattern changed: %s of the requests are sequential, before %s were", percent(now.inSequence), percent(was.inSequence)))
			}
			r := a.time / a.expected
			if r < slower {
				return no(fmt.Sprintf("requests of the same size and queue depth take %.1fx as long as before", r))
			}
			k := c.deviceCulprit()
			conf := confidence((r-slower)/slower, true) * (0.8 + 0.2*a.covered)
			if c.before.Unknown != "" {
				conf *= 0.85 // that it is the same device is told by its name alone
			}
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: c.deviceWeight() * (1 - 1/r), Culprit: k,
				Evidence: []Evidence{
					c.figure("latency, now", a.time/a.ops, "seconds", sample.BlockDepthTime),
					c.figure("the same requests before", a.expected/a.ops, "seconds", sample.BlockDepthTime),
					c.figure("requests compared, of the time of all", a.covered, "ratio", sample.BlockDepthTime),
					c.figure("operations on "+c.device, now.ops, "count/s", sample.BlockOps).as("operations"),
					c.figure("operations before", was.ops, "count/s", sample.BlockOps),
					c.figure("bandwidth of "+c.device, now.bytes, "bytes/s", sample.BlockBytes).as("bandwidth"),
					c.figure("bandwidth before", was.bytes, "bytes/s", sample.BlockBytes),
				},
				Disprove: "the old latency returns when the program has the device to itself; or another user of the same storage (a virtual machine, a storage network) is busy now",
				Advice: []Advice{{
					Do: fmt.Sprintf("check what %s is made of: its health (smartctl -a, nvme smart-log), a RAID that rebuilds, a volume out of burst credits, a limit that was lowered",
						c.device),
					Expect: fmt.Sprintf("a request takes %s again instead of %s", duration(a.expected/a.ops), duration(a.time/a.ops)),
				}},
			}
		},
	}
}

// crowds tells of causes by which requests wait for something else than the
// device's own work: others' requests, a limit, another try.
func crowds(id ID) bool {
	return slices.Contains([]ID{NoisyNeighbour, WritebackInterference, SwapThrash, CgroupIOThrottle, DeviceErrors}, id)
}

// list writes causes for people.
func list(ids []ID) string {
	var out []string
	for _, id := range ids {
		out = append(out, string(id))
	}
	return strings.Join(out, ", ")
}

// anotherDevice says why the device is not the one that it was, "" when nothing
// speaks for that.
func (c *Case) anotherDevice() string {
	for _, s := range c.before.Differ {
		switch {
		case strings.HasPrefix(s.Name, "virtual.") || s.Name == "arch":
			return fmt.Sprintf("another machine: its %s is %q, not %q", s.Name, s.Now, s.Before)
		case s.Device == c.device && (strings.HasSuffix(s.Name, "].bytes") || strings.HasSuffix(s.Name, "].model")):
			return fmt.Sprintf("another device: %s is %q, not %q", s.Name, s.Now, s.Before)
		}
	}
	return ""
}

// slowerDevice tells of a device that takes longer for what it was asked before,
// too.
func (c *Case) slowerDevice() bool {
	a := c.alike()
	return a.covered >= degradedAlike && a.time >= slower*a.expected
}

// deviceLoad is what a device was asked for, a second.
type deviceLoad struct{ ops, bytes, inSequence float64 }

func (c *Case) deviceLoad(device string) deviceLoad {
	var l deviceLoad
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		e := sample.Entity{Device: device, Class: op}
		n, _ := c.w.Sum(sample.BlockOps, e)
		b, _ := c.w.Sum(sample.BlockBytes, e)
		s, _ := c.w.Sum(sample.BlockSequential, e)
		l.ops, l.bytes, l.inSequence = l.ops+n, l.bytes+b, l.inSequence+s
	}
	if l.ops > 0 {
		l.inSequence /= l.ops
	}
	l.ops, l.bytes = l.ops/c.w.Seconds(), l.bytes/c.w.Seconds()
	return l
}

// alike compares the requests on the victim's device with those of the same
// kind before, where both windows have enough of them.
func (c *Case) alike() alike {
	var a alike
	var total float64
	c.w.Each(sample.BlockDepthOps, func(e sample.Entity, s *sample.Series) {
		if e.Device != c.device {
			return
		}
		t, _ := c.w.Sum(sample.BlockDepthTime, e)
		total += t
		then, _ := c.before.Window.Sum(sample.BlockDepthOps, e)
		took, _ := c.before.Window.Sum(sample.BlockDepthTime, e)
		if n := s.Sum(); n >= baseOps && then >= baseOps && took > 0 {
			a.ops, a.time, a.expected = a.ops+n, a.time+t, a.expected+n*took/then
		}
	})
	if total > 0 {
		a.covered = a.time / total
	}
	return a
}
