package verify

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"iocause/internal/sample"
)

// goodLength is how long, in seconds, each side must have been watched for a change
// of Helps to be more than chance where the disk works evenly. Chance halves with
// four times the time.
const goodLength = 10

// batch is the time that a disk's rate is averaged over before its spread is taken:
// what happens within it is not independent.
const batch = 500 * time.Millisecond

// chance is the factor below which more or less work may be chance: Helps, more after
// times that were short, and more where the disk served unevenly meanwhile.
func chance(before, after *Seen) float64 {
	short := min(before.Report.Window.Seconds, after.Report.Window.Seconds)
	most := (Helps - 1) * math.Sqrt(max(1, goodLength/max(short, 0.1)))
	b, a := unevenness(before), unevenness(after)
	return 1 + max(most, 2*math.Sqrt(b*b+a*a))
}

// unevenness is the standard error of the rate of the program's disk over the time, a
// part of that rate; 0 where the disk's rate is not known at several times.
func unevenness(s *Seen) float64 {
	device := s.Report.Victim.Device
	if len(s.Report.Findings) > 0 {
		device = cmp.Or(device, s.Report.Findings[0].Culprit.Device)
	}
	ops := s.Window.Get(sample.BlockBinOps, sample.Entity{Device: device})
	n := int(s.Window.Length / batch)
	if ops == nil || n < 4 {
		return 0
	}
	batches, mean := make([]float64, n), 0.0
	for _, p := range ops.Points {
		if i := int(p.At / batch); i >= 0 && i < n { // what is behind the last whole one is left out
			batches[i] += p.Value
			mean += p.Value / float64(n)
		}
	}
	if mean == 0 {
		return 0
	}
	spread := 0.0
	for _, v := range batches {
		spread += (v/mean - 1) * (v/mean - 1)
	}
	return math.Sqrt(spread / float64(n-1) / float64(n))
}

// doubt says why more or less work counts for nothing.
func (o *Outcome) doubt(limit float64) {
	if o.Factor == nil || limit <= Helps {
		return
	}
	if f := max(*o.Factor, 1/max(*o.Factor, 1e-9)); f >= Helps && f < limit {
		o.note(fmt.Sprintf("up to %.2g times as much or as little may be chance in times of %.3g s and %.3g s, as even as they were: watch both for %d s or longer (--duration)",
			limit, o.Before.Seconds, o.After.Seconds, goodLength))
	}
}
