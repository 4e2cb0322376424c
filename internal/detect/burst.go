// Package detect finds what stands out in series of figures.
package detect

import (
	"math"
	"slices"
)

// Load is what arrived in one bin of time.
type Load struct {
	Ops, Bytes uint64
}

func (l Load) add(m Load) Load { return Load{l.Ops + m.Ops, l.Bytes + m.Bytes} }

// Burst is a run of bins that stand out. From is its first bin, To the one
// behind its last.
type Burst struct {
	From, To int64
	Load          // all of it
	Peak     Load // the most operations and the most bytes in one bin
}

// BurstBins is how many bins BurstFinder looks back at: with bins of a
// millisecond, the second that averages are made of.
const BurstBins = 1000

const (
	// burstSpread is how many robust standard deviations above the median a
	// bin stands out. Random arrivals (Poisson) get there less than once in an
	// hour of milliseconds, at whatever rate: a test computes it.
	burstSpread = 8
	// burstOps and burstBytes are what a bin has at the least, so that a
	// lone request on an idle device is no burst.
	burstOps, burstBytes = 10, 1 << 20
	burstGap             = 2   // bins below the threshold that do not end a burst
	burstEvery           = 100 // bins from one look at the median to the next
	madToSigma           = 1.4826
)

// Threshold is what bins stand out above.
type Threshold struct{ Ops, Bytes float64 }

// ThresholdOf is the level that a bin must reach to stand out from others: the
// median and 8 robust standard deviations (the scaled median absolute
// deviation; Leys et al., "Detecting outliers", J. Exp. Soc. Psych. 49, 2013).
// Unlike mean and variance neither is moved by the bursts themselves, as long
// as they fill less than half of the bins. Counts vary by the root of their
// mean even when nothing changes, so the deviation is at least that.
func ThresholdOf(bins []Load) Threshold {
	if len(bins) == 0 {
		return Threshold{burstOps, burstBytes}
	}
	ops, bytes := make([]float64, len(bins)), make([]float64, len(bins))
	var all Load
	for i, b := range bins {
		ops[i], bytes[i] = float64(b.Ops), float64(b.Bytes)
		all = all.add(b)
	}
	median, deviation := medianAndDeviation(ops)
	chance := math.Sqrt(median + 1) // 1: the mean lies above the median
	size := float64(all.Bytes) / max(float64(all.Ops), 1)
	t := Threshold{Ops: max(burstOps, median+burstSpread*max(deviation, chance))}
	median, deviation = medianAndDeviation(bytes)
	t.Bytes = max(burstBytes, median+burstSpread*max(deviation, chance*size))
	return t
}

// medianAndDeviation sorts its argument.
func medianAndDeviation(v []float64) (median, deviation float64) {
	slices.Sort(v)
	median = v[len(v)/2]
	if v[0] == v[len(v)-1] {
		return median, 0
	}
	for i := range v {
		v[i] = math.Abs(v[i] - median)
	}
	slices.Sort(v)
	return median, v[len(v)/2] * madToSigma
}

// BurstFinder finds bursts in bins that come one after the other. A burst is a
// run of bins of which each reaches the threshold, or half of it once the
// burst is on, with at most two lesser ones between them: microbursts as runs
// of fine bins are those of Zhang et al., "High-resolution measurement of data
// center microbursts", IMC 2017. The threshold comes from the newest 1000
// bins.
type BurstFinder struct {
	ring  [BurstBins]Load
	n     int64 // bins so far
	first int64 // the number of the first
	at    Threshold
	known bool
	on    bool
	now   Burst
	gap   Load // of the bins since now.To
}

// NewBurstFinder makes a finder whose first bin has a number.
func NewBurstFinder(first int64) *BurstFinder { return &BurstFinder{first: first} }

// Add takes the next bin and calls f for a burst that it ended. The first 1000
// bins are judged when they are all there.
func (b *BurstFinder) Add(l Load, f func(Burst)) {
	b.ring[b.n%BurstBins] = l
	b.n++
	switch {
	case b.n < BurstBins:
		return
	case b.n == BurstBins:
		b.judgeFirst(f)
		return
	case b.n%burstEvery == 0:
		b.at = ThresholdOf(b.ring[:])
	}
	b.judge(b.first+b.n-1, l, f)
}

func (b *BurstFinder) judgeFirst(f func(Burst)) {
	b.at, b.known = ThresholdOf(b.ring[:b.n]), true
	for i := range b.n {
		b.judge(b.first+i, b.ring[i], f)
	}
}

func (b *BurstFinder) judge(bin int64, l Load, f func(Burst)) {
	t := b.at
	if b.on {
		t.Ops, t.Bytes = t.Ops/2, t.Bytes/2
	}
	if float64(l.Ops) >= t.Ops || float64(l.Bytes) >= t.Bytes {
		if !b.on {
			b.on, b.now = true, Burst{From: bin}
		}
		b.now.To = bin + 1
		b.now.Load = b.now.add(b.gap).add(l)
		b.gap = Load{}
		b.now.Peak = Load{max(b.now.Peak.Ops, l.Ops), max(b.now.Peak.Bytes, l.Bytes)}
		return
	}
	if !b.on {
		return
	}
	b.gap = b.gap.add(l)
	if bin-b.now.To >= burstGap {
		b.on, b.gap = false, Load{}
		f(b.now)
	}
}

// End judges what is left.
func (b *BurstFinder) End(f func(Burst)) {
	if !b.known && b.n > 0 {
		b.judgeFirst(f)
	}
	if b.on {
		b.on = false
		f(b.now)
	}
}

// Open is the burst that is on, if one is: those that end later begin there.
func (b *BurstFinder) Open() (from int64, on bool) { return b.now.From, b.on }
