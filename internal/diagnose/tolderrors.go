package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// toldErrors judges failures that the lines of a kernel's log tell of. Such a
// log says neither how many requests went well nor how long it took to fail.
func (c *Case) toldErrors(f *failures) Verdict {
	var all float64
	e := []Evidence{c.figure("failures of "+f.device, f.ops, "count", sample.BlockFailures).as("failures")}
	for _, kind := range slices.SortedFunc(maps.Keys(f.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.kinds[b], f.kinds[a]), strings.Compare(a, b))
	}) {
		op, status, _ := strings.Cut(kind, " ")
		e = append(e, c.figure(op+"s that ended with "+status, f.kinds[kind], "count", sample.BlockFailures).as("failures-of-a-kind"))
	}
	c.w.Each(sample.BlockFailures, func(_ sample.Entity, s *sample.Series) { all += s.Sum() })
	do := fmt.Sprintf("look at %s itself (smartctl -a, nvme smart-log), then at its cable, port and controller; save the data and replace what is broken", f.device)
	if f.kinds["request timeout"] > f.ops/2 {
		do = fmt.Sprintf("find out why %s does not answer: its own log (smartctl -a, nvme error-log), firmware, cable, path or server; save the data", f.device)
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(min(1, f.ops/10)+0.3, true), Weight: f.ops / max(all, f.ops), WeightOf: OfLog,
		Culprit: Culprit{Device: f.device}, Evidence: e,
		Disprove: "the failures happened at another time than the slowness: compare with the times in the log",
		Advice: []Advice{{
			Do:     do,
			Expect: "until it is repaired, a program that reads or writes a bad sector waits for every retry (up to 30 s each on a SCSI disk)",
		}},
	}
}

// toldFaults judges what a disk keeps account of about itself. ok is false where a
// text tells of no fault: a disk that finds none may still not be reached.
func (c *Case) toldFaults() (Verdict, bool) {
	by := map[string]float64{}
	var all float64
	c.w.Each(sample.DeviceFaults, func(e sample.Entity, s *sample.Series) {
		by[e.Device] += s.Last()
		all += s.Last()
	})
	if all == 0 {
		return Verdict{}, false
	}
	device := slices.MaxFunc(slices.Sorted(maps.Keys(by)), func(a, b string) int { return cmp.Compare(by[a], by[b]) })
	var e []Evidence
	c.w.Each(sample.DeviceFaults, func(of sample.Entity, s *sample.Series) {
		if of.Device == device && s.Last() > 0 {
			e = append(e, Evidence{ID: "device-faults", Name: device + ": " + of.Class, Value: s.Last(), Unit: "count", Source: s.Source})
		}
	})
	slices.SortFunc(e, func(a, b Evidence) int { return cmp.Or(cmp.Compare(b.Value, a.Value), strings.Compare(a.Name, b.Name)) })
	return Verdict{
		Answer: Yes, Confidence: confidence(min(1, by[device]/10), false), Weight: by[device] / all, WeightOf: OfLog,
		Culprit: Culprit{Device: device}, Evidence: e,
		Disprove: "the faults are older than the slowness: the counters cover the life of the disk, so read them twice, and compare the times in its error log (smartctl -l error)",
		Advice: []Advice{{
			Do:     "save the data of " + device + " and replace it; until then paste dmesg -T to see which requests fail",
			Expect: "a program that reads a bad sector waits until the disk gives up (seconds, or minutes without a limit: smartctl -l scterc), each time",
		}},
	}, true
}
