package diagnose

import (
	"fmt"
	"strings"

	"iocause/internal/sample"
)

const (
	// slowWrite is how long, in seconds, a write takes at least that waits for the
	// medium: one into a protected or fast memory takes far less.
	slowWrite = 0.5e-3
	// writesWait is the part of the victim's waiting that is for writes from which on
	// their cache matters.
	writesWait = 0.3
)

// writeCacheOff: the device has a write cache, it is off, and each write waits for
// the medium.
func writeCacheOff() Cause {
	return Cause{
		ID: WriteCacheOff, Title: "the device's write cache is off: each write waits for the medium",
		Needs: [][]sample.Metric{{sample.DeviceCacheThere, sample.DeviceWriteCache}, {sample.BlockDeviceTime}},
		Over:  append(deviceCauses(), SyncWrites, DirtyThrottling, WritebackInterference, DeviceDegraded),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldCacheOff()
			}
			if v := c.outOfDevice(); v != nil {
				return *v
			}
			v := &c.victim
			wait := max(c.syncWait(), v.wait[sample.ClassSync]+v.wait[sample.ClassWrite]) + v.pause
			if total := v.waitTotal + v.pause; wait < writesWait*total || total == 0 {
				return no(fmt.Sprintf("the victim waits for writes for %s of its waiting time", percent(wait/max(total, 1e-9))))
			}
			if !c.w.Has(sample.BlockDeviceTime) {
				return cannotTell(c.w.WhyAbsent(sample.BlockDeviceTime))
			}
			answer := no("no disk below " + c.device + " wrote anything")
			for _, d := range c.disksBelow(c.device) {
				l := c.requestsOf(d, sample.ClassWrite)
				if l.ops == 0 {
					continue
				}
				off, why := c.cacheIsOff(d)
				switch {
				case off && l.time/l.ops >= slowWrite:
					return c.cacheOffVerdict(d, &l, wait)
				case off:
					answer = no(fmt.Sprintf("the write cache of %s is off, but its writes take only %s", d, duration(l.time/l.ops)))
				case why == "":
				case l.time/l.ops < slowWrite:
					answer = no(fmt.Sprintf("writes to %s take only %s", d, duration(l.time/l.ops)))
				default:
					return cannotTell(why)
				}
				if !off && why == "" {
					answer = no("the write cache of " + d + " is on, or it has none that could be off")
				}
			}
			return answer
		},
	}
}

// cacheIsOff tells whether a disk has a write cache that is off; why is why that is
// not known.
func (c *Case) cacheIsOff(device string) (off bool, why string) {
	e := sample.Entity{Device: device}
	there, known := c.w.Value(sample.DeviceCacheThere, e)
	on, told := c.w.Value(sample.DeviceCacheOn, e)
	back, ok := c.w.Value(sample.DeviceWriteCache, e)
	switch {
	case known && there == 0, told && on == 1:
		return false, ""
	case known && told:
		return true, ""
	case ok && back == 1:
		return false, "" // the kernel sends it flushes
	case ok:
		return false, fmt.Sprintf("the kernel takes %s for a device without a volatile write cache; whether it has one that is off, or one that is protected against power loss, it does not say", device)
	}
	return false, c.w.WhyAbsent(sample.DeviceCacheThere)
}

func (c *Case) cacheOffVerdict(device string, l *load, wait float64) Verdict {
	s, e := c.w.Seconds(), sample.Entity{Device: device}
	k := c.culprit()
	k.Device = device
	flushes := c.requestsOf(device, sample.ClassFlush)
	return Verdict{
		Answer: Yes, Confidence: 0.80, Weight: c.part(wait), Culprit: k,
		Evidence: []Evidence{
			c.figureOf("write cache on (0: off)", 0, "count", sample.DeviceCacheOn, e),
			c.figureOf("time of one write to "+device, l.time/l.ops, "seconds", sample.BlockDeviceTime, e).as("time-of-one-write"),
			c.figureOf("writes to "+device, l.ops/s, "count/s", sample.BlockOps, e).as("writes"),
			c.figureOf("flushes sent to it", flushes.ops/s, "count/s", sample.BlockOps, e),
		},
		Disprove: "writes take as long with the cache on: then the medium or a cap is the limit, and each flush takes what each write takes now",
		Advice: []Advice{{
			Do:      fmt.Sprintf("switch the write cache of %s on. File systems flush it when a program syncs, so that synced data is safe; after a power failure unsynced data is lost, as from memory. Leave it off where something writes without flushes (mounts with nobarrier, a RAID controller with a protected cache of its own)", device),
			Expect:  "writes of one commit go into the cache together, and wait once, in its flush",
			Command: c.cacheOnCommand(device),
		}},
	}
}

func (c *Case) cacheOnCommand(device string) string {
	switch {
	case !typeable(device):
		return ""
	case strings.HasPrefix(device, "nvme"):
		return "nvme set-feature /dev/" + device + " --feature-id 6 --value 1"
	case strings.HasPrefix(device, "vd"):
		return "echo 'write back' > /sys/block/" + device + "/cache_type"
	}
	return "hdparm -W1 /dev/" + device
}
