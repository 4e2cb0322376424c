package predict

import (
	"math"
	"slices"
)

// Reads is how long read calls take at the size of now.
type Reads struct {
	Calls float64   // all
	Waits []Waited  // of those that waited for pages from disk, shortest first
	Hits  []float64 // s that calls take which do not, fastest first; the others take the middle in addition
}

// Waited is how many calls waited so long.
type Waited struct{ From, To, Calls float64 } // s, s

// leastWaits is how many calls must have waited for the disk before their times are
// told to anybody.
const leastWaits = 50

// preempted is by how much longer calls took than the time in which their pages were
// missing, in the 99th percentile of four threads on two processors: who has waited may
// lose the processor before the call ends.
const preempted = 2

// AddTimes works out how long read calls take at each size: the shares of those that
// wait for the disk and of those that do not change with the misses, and how long each
// kind takes stays. The intervals cover those of the misses, the number of calls that
// were seen, and twice the time of calls that do not wait, which were measured alone.
func (c *Curve) AddTimes(r *Reads) {
	waited := 0.0
	for _, w := range r.Waits {
		waited += w.Calls
	}
	if r.Calls < least || len(r.Hits) == 0 {
		return
	}
	share := func(hit float64) float64 {
		if c.Now >= 1 {
			return 1 - hit // of nothing that waited, all misses may
		}
		return min(1, waited/r.Calls*(1-hit)/(1-c.Now))
	}
	for i := range c.Points {
		x := &c.Points[i]
		for _, q := range []struct {
			of float64
			to **Share
		}{{0.5, &x.Median}, {0.99, &x.P99}} {
			most, likely, fewest := share(x.Low), share(x.Hit), share(x.High)
			if waited < leastWaits && most > 1-q.of {
				continue
			}
			s := &Share{Value: r.quantile(q.of, likely, 0, waited), Low: r.quantile(q.of, fewest, -1, waited), High: r.quantile(q.of, most, 1, waited)}
			s.Low, s.High = min(s.Low, s.Value), max(s.High, s.Value)
			*q.to = s
		}
	}
}

// quantile is that of the mixture of calls, of which a share waits; at the lower end of
// what is possible (-1), the value (0) or the upper end (1), for n calls that waited.
func (r *Reads) quantile(q, share float64, end int, n float64) float64 {
	if q <= 1-share {
		i := int(q / (1 - share) * float64(len(r.Hits)))
		hit := r.Hits[min(i, len(r.Hits)-1)]
		switch {
		case end > 0:
			return 2 * hit
		case end < 0:
			return 0.7 * Middle(r.Hits) // read in order, and without a clock around each
		}
		return hit
	}
	at := (q - (1 - share)) / share
	at += float64(end) * 1.645 * math.Sqrt(at*(1-at)/n)
	took := Middle(r.Hits) + r.waitAt(min(1, max(0, at)), n)
	if end > 0 {
		took *= preempted
	}
	return took
}

// waitAt is a quantile of what the n calls waited that did.
func (r *Reads) waitAt(q, n float64) float64 {
	seen := 0.0
	for _, w := range r.Waits {
		if w.Calls > 0 && seen+w.Calls >= q*n {
			return w.From + (w.To-w.From)*max(0, q*n-seen)/w.Calls
		}
		seen += w.Calls
	}
	return 0
}

// Middle is the median of what is sorted.
func Middle(sorted []float64) float64 { return sorted[len(sorted)/2] }

// SortWaits puts what several processes waited together, shortest first.
func SortWaits(all []Waited) []Waited {
	slices.SortFunc(all, func(a, b Waited) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	return all
}
