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
	e := []Evidence{c.figure("failures of "+f.device, f.ops, "count", sample.BlockFailures)}
	for _, kind := range slices.SortedFunc(maps.Keys(f.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.kinds[b], f.kinds[a]), strings.Compare(a, b))
	}) {
		op, status, _ := strings.Cut(kind, " ")
		e = append(e, c.figure(op+"s that ended with "+status, f.kinds[kind], "count", sample.BlockFailures))
	}
	c.w.Each(sample.BlockFailures, func(_ sample.Entity, s *sample.Series) { all += s.Sum() })
	do := fmt.Sprintf("look at %s itself (smartctl -a, nvme smart-log), then at its cable, port and controller; save the data and replace what is broken", f.device)
	if f.kinds["request timeout"] > f.ops/2 {
		do = fmt.Sprintf("find out why %s does not answer: its own log (smartctl -a, nvme error-log), firmware, cable, path or server; save the data", f.device)
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(min(1, f.ops/10)+0.3, true), Weight: f.ops / max(all, f.ops), WeightOf: OfLog,
		Culprit: Culprit{Device: f.device}, Evidence: e,
		Disprove: "failures of another time than the slowness: compare the times of the log's lines with it",
		Advice: []Advice{{
			Do:     do,
			Expect: "who asks for what cannot be read or written waits for every retry (up to 30 s each on a SCSI disk), until that is repaired",
		}},
	}
}
