package fleet

import (
	"cmp"
	"math"
	"slices"
)

// Load is what one disk did in one interval.
type Load struct {
	Disk  int     // by its place in the list of disks
	Ops   float64 // requests a second
	Depth float64 // requests in flight, on the mean
	Bytes float64 // a second
	Reads float64 // share of the requests, 0 to 1
}

// Latency is the mean time of a request in seconds, queue included: requests in
// flight by their rate (J. D. C. Little, 1961).
func (l *Load) Latency() float64 { return l.Depth / l.Ops }

// Slow is a disk that is slower than its like.
type Slow struct {
	Disk      int
	Times     float64 // its latency by that of its like at the same load
	Deviation float64 // of that from its like's, in robust standard deviations
	Latency   float64 // median of its intervals, seconds
	Like      float64 // median of what its like had at the same load, seconds
	Intervals int     // that were compared
	Peers     int     // disks of its model
}

const (
	// LeastSlower is from how many times the latency of its like on a disk is slow.
	LeastSlower = 1.5
	// leastDeviation is of a normal distribution one in three million.
	leastDeviation = 5
	// leastSpread is how much latencies of disks of one model differ at least, as
	// the logarithm: 5 %.
	leastSpread    = 0.05
	leastPeers     = 5 // other disks at the same load, for an interval to be compared
	leastIntervals = 3
	leastOps       = 1 // a second; the mean of fewer is that of single requests
)

// bin is a load: disks in one bin are asked for the same.
type bin struct{ depth, size, reads int }

// binOf parts depth in steps of a fifth, size of a half, and reads from writes.
// Depth and not the rate, for a disk that is slow gets less done at equal depth.
func binOf(l *Load) bin {
	return bin{
		depth: int(math.Round(4 * math.Log2(l.Depth))),
		size:  int(math.Round(2 * math.Log2(max(l.Bytes/l.Ops, 512)))),
		reads: int(math.Round(4 * l.Reads)),
	}
}

// SlowDisks are the disks of one model that are slower than the others at the
// same load, for most of the time that can be compared, the slowest first. disks
// is how many there are; compared, of how many there is an answer.
func SlowDisks(loads []Load, disks int) (slow []Slow, compared int) {
	like := reference(loads)
	type pair struct{ own, like float64 }
	of := make([][]pair, disks)
	for i := range loads {
		l := &loads[i]
		if !tells(l) {
			continue
		}
		if r := like[binOf(l)]; len(r) > leastPeers {
			of[l.Disk] = append(of[l.Disk], pair{l.Latency(), leaving(r, l.Disk)})
		}
	}
	var scores []float64
	var all []Slow
	for disk, pairs := range of {
		if len(pairs) < leastIntervals {
			continue
		}
		var times, own, others []float64
		for _, p := range pairs {
			times = append(times, math.Log(p.own/p.like))
			own, others = append(own, p.own), append(others, p.like)
		}
		score := Median(times)
		scores = append(scores, score)
		all = append(all, Slow{Disk: disk, Times: math.Exp(score), Deviation: score, Latency: Median(own), Like: Median(others), Intervals: len(pairs), Peers: disks - 1})
	}
	middle := Median(slices.Clone(scores))
	for i := range scores {
		scores[i] = math.Abs(scores[i] - middle)
	}
	spread := max(1.4826*Median(scores), leastSpread)
	for _, s := range all {
		s.Deviation = (s.Deviation - middle) / spread
		if s.Times >= LeastSlower && s.Deviation >= leastDeviation {
			slow = append(slow, s)
		}
	}
	slices.SortFunc(slow, func(a, b Slow) int { return cmp.Or(-cmp.Compare(a.Times, b.Times), cmp.Compare(a.Disk, b.Disk)) })
	return slow, len(all)
}

// tells whether an interval has enough requests to compare.
func tells(l *Load) bool { return l.Ops >= leastOps && l.Depth > 0 }

// typical is a disk's median latency in a bin.
type typical struct {
	disk    int
	latency float64
}

// reference is what disks have in each bin, each disk once, by latency.
func reference(loads []Load) map[bin][]typical {
	own := map[bin]map[int][]float64{}
	for i := range loads {
		l := &loads[i]
		if !tells(l) {
			continue
		}
		b := binOf(l)
		if own[b] == nil {
			own[b] = map[int][]float64{}
		}
		own[b][l.Disk] = append(own[b][l.Disk], l.Latency())
	}
	out := map[bin][]typical{}
	for b, by := range own {
		for disk, latencies := range by {
			out[b] = append(out[b], typical{disk, Median(latencies)})
		}
		slices.SortFunc(out[b], func(x, y typical) int { return cmp.Or(cmp.Compare(x.latency, y.latency), cmp.Compare(x.disk, y.disk)) })
	}
	return out
}

// leaving is the median latency of all disks but one.
func leaving(all []typical, disk int) float64 {
	at := slices.IndexFunc(all, func(t typical) bool { return t.disk == disk })
	get := func(i int) float64 {
		if at >= 0 && i >= at {
			i++
		}
		return all[i].latency
	}
	n := len(all)
	if at >= 0 {
		n--
	}
	return (get((n-1)/2) + get(n/2)) / 2
}

// Median sorts what it is given; NaN of nothing.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
