package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// failures is what failed on one device.
type failures struct {
	device    string
	ops, time float64
	kinds     map[string]float64 // by OPERATION STATUS
	by        map[int]float64    // by process
}

// deviceErrors: requests fail, or are never answered. That matters whoever waits.
func deviceErrors() Cause {
	return Cause{
		ID: DeviceErrors, Title: "the device fails requests, or answers none",
		Needs: [][]sample.Metric{{sample.BlockFailures, sample.DeviceFaults}},
		Over:  append(deviceCauses(), ColdCache, MetadataBound, CacheBusting, DirectIO, SyncWrites, JournalCommit, NoisyNeighbour, WritebackInterference, DeviceDegraded),
		Judge: func(c *Case) Verdict {
			f := c.failures()
			if v, ok := c.silent(); ok && f.ops == 0 {
				return v
			}
			if v, ok := c.toldFaults(); ok && f.ops == 0 {
				return v
			}
			if !c.w.Has(sample.BlockFailures) {
				return cannotTell(c.w.WhyAbsent(sample.BlockFailures))
			}
			if f.ops == 0 {
				if !c.narrowed() || c.device == "" {
					return no("no device failed a request")
				}
				return no("no request of " + c.device + " failed")
			}
			s := c.w.Seconds()
			var all float64
			c.w.Each(sample.BlockOps, func(e sample.Entity, n *sample.Series) {
				if e.Device == f.device && e.PID == 0 && e.Cgroup == "" {
					all += n.Sum()
				}
			})
			k := Culprit{Device: f.device, PID: most(f.by)}
			k.Comm, k.Cgroup = c.w.Processes[k.PID].Comm, c.w.Processes[k.PID].MemoryCgroup
			c.at(&k, c.fileOf(k.PID, f.device))
			if c.w.Told {
				return c.toldErrors(&f)
			}
			e := []Evidence{
				c.figure("failed requests of "+f.device, f.ops, "count", sample.BlockFailures).as("failed-requests"),
				c.figure("of all its requests", f.ops/max(all, f.ops), "ratio", sample.BlockOps),
				c.figure("time until one fails", f.time/f.ops, "seconds", sample.BlockFailTime),
			}
			for _, kind := range slices.SortedFunc(maps.Keys(f.kinds), func(a, b string) int {
				return cmp.Or(cmp.Compare(f.kinds[b], f.kinds[a]), strings.Compare(a, b))
			}) {
				op, status, _ := strings.Cut(kind, " ")
				e = append(e, c.figure(op+"s that ended with "+status, f.kinds[kind]/s, "count/s", sample.BlockFailures).as("failures-of-a-kind"))
			}
			again, _ := c.w.SumWhere(sample.BlockRequeues, func(e sample.Entity) bool { return e.Device == f.device })
			if again > 0 {
				e = append(e, c.figure("requests put back into the queue", again/s, "count/s", sample.BlockRequeues))
			}
			weight, of := f.ops/max(all, f.ops), OfRequest
			if c.suffers() && f.device == c.device {
				weight = max(weight, f.time/max(c.blockTime(func(e sample.Entity) bool { return e.Device == f.device && e.PID != 0 }), f.time))
				weight, of = weight*c.deviceWeight(), ""
			}
			return Verdict{
				Answer: Yes, Confidence: confidence(min(1, f.ops/10)+0.3, true), Weight: weight, WeightOf: of, Culprit: k, Evidence: e,
				Disprove: "the requests themselves are invalid (a size or an operation that the device does not support)",
				Advice: []Advice{{
					Do: f.remedy(),
					Expect: fmt.Sprintf("%.0f requests failed in %s: programs get errors or wait for retries until the device, its path or its backend is repaired",
						f.ops, duration(s)),
				}},
			}
		},
	}
}

// remedy is what to do about the failures of which there are most.
func (f *failures) remedy() string {
	const log = "look for %s in the kernel's log (dmesg)"
	sums := map[string]float64{}
	for kind, n := range f.kinds {
		_, status, _ := strings.Cut(kind, " ")
		switch status {
		case "no space":
			sums[log+", and make room in what it is made of: a thin pool, an array or a volume that has no space left"] += n
		case "reservation":
			sums[log+": another host has reserved it (sg_persist --in --read-reservation); this one may have been fenced, so let nothing write until that is clear"] += n
		case "transport", "offline":
			sums[log+" and at its path: cable, switch, host adapter, hypervisor (multipath -ll); the data may be as they should"] += n
		case "resource", "device resource", "zone resource", "zone open", "zone active":
			sums[log+": the kernel or the device had not enough memory or open zones at once; let fewer programs write at a time"] += n
		default:
			sums[log+" and in the device's own (smartctl -a, nvme smart-log); save the data and replace the device"] += n
		}
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(sums)), func(a, b string) int { return cmp.Compare(sums[a], sums[b]) })
	return fmt.Sprintf(most, f.device)
}

// failures are those of the device with most of them: the one that is asked
// about, if there is one. What a device never can do is no failure.
func (c *Case) failures() failures {
	all := map[string]*failures{}
	c.w.Each(sample.BlockFailures, func(e sample.Entity, s *sample.Series) {
		if e.Device == "" || c.target.Device != "" && e.Device != c.target.Device {
			return
		}
		if c.narrowed() && c.target.Device == "" && e.Device != c.device && !c.selects(e.PID) {
			return
		}
		op, status, _ := strings.Cut(e.Class, " ")
		if op == "other" || status == "not supported" || status == "again" || status == "invalid" {
			return
		}
		f := all[e.Device]
		if f == nil {
			f = &failures{device: e.Device, kinds: map[string]float64{}, by: map[int]float64{}}
			all[e.Device] = f
		}
		f.ops += s.Sum()
		f.kinds[e.Class] += s.Sum()
		f.by[e.PID] += s.Sum()
		t, _ := c.w.Sum(sample.BlockFailTime, e)
		f.time += t
	})
	var worst failures
	for _, f := range all {
		if f.ops > worst.ops || f.ops == worst.ops && f.device < worst.device {
			worst = *f
		}
	}
	return worst
}
