package diagnose

import (
	"maps"
	"slices"

	"iocause/internal/sample"
)

// below is a device and all that it lies on, the disks included, by name.
func (c *Case) below(device string) []string {
	found := map[string]bool{device: true}
	for again := true; again; {
		again = false
		c.w.Each(sample.DeviceOn, func(e sample.Entity, _ *sample.Series) {
			if found[e.Device] && !found[e.Class] {
				found[e.Class], again = true, true
			}
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// disksBelow are those of below that lie on no other.
func (c *Case) disksBelow(device string) []string {
	return slices.DeleteFunc(c.below(device), func(d string) bool {
		layer := false
		c.w.Each(sample.DeviceOn, func(e sample.Entity, _ *sample.Series) { layer = layer || e.Device == d })
		return layer
	})
}

// requestsOf is what a device did in one operation.
func (c *Case) requestsOf(device, op string) load {
	e := sample.Entity{Device: device, Class: op}
	var l load
	l.ops, _ = c.w.Sum(sample.BlockOps, e)
	l.bytes, _ = c.w.Sum(sample.BlockBytes, e)
	l.time, _ = c.w.Sum(sample.BlockDeviceTime, e)
	return l
}

// outOfDevice is the answer of causes that lie in the victim's device where it waits
// for none, nil where it waits for one.
func (c *Case) outOfDevice() *Verdict {
	switch {
	case !c.suffers():
		return refuse(no("no program waits for I/O long enough to matter"))
	case c.w.Told:
		return refuse(cannotTell("the pasted output does not show it: run iocause diagnose while it happens"))
	case c.device == "":
		return refuse(no("no device did any I/O"))
	}
	return nil
}
