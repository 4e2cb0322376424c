package predict

import (
	"math"
	"slices"
)

// Reads is how long read calls take at the size of now.
type Reads struct {
	Calls float64   // all
	Waits []Waited  // of those that waited for pages from disk, shortest first
	Late  []Waited  // of those that did not, and lost the processor meanwhile: how long
	Hits  []float64 // s that calls take which do neither, fastest first; the others take the middle in addition
	Warm  float64   // s that those of them take whose pages the processor has in its own cache; 0: not known
	// Rate is how many pages come from disk in a time at another size, now being 1.
	Rate func(*Point) float64
}

// Waited is how many calls waited so long.
type Waited struct{ From, To, Calls float64 } // s, s

// warm is how many bytes a processor keeps of what was read last.
const warm = 1 << 20

// leastWaits is how many calls must have waited for the disk before their times are
// told to anybody.
const leastWaits = 50

// slower and faster are by how much the same disk answers the slowest calls later and
// sooner at other times, on a quiet machine: nine of ten lie between.
const slower, faster = 1.4, 0.8

// AddTimes works out how long read calls take at each size: the shares of those that
// wait for the disk and of those that do not change with the misses, and how long each
// kind takes stays. Who loses the processor in a call loses it to somebody whose page
// has come: that happens as often as pages come. The intervals cover those of the
// misses, the number of calls that were seen, and twice the time of calls that do not
// wait, which were measured alone.
func (c *Curve) AddTimes(r *Reads) {
	waited, late := calls(r.Waits), calls(r.Late)
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
		lose := min(1, late/max(1, r.Calls-waited)*r.Rate(x))
		for _, q := range []struct {
			of float64
			to **Share
		}{{0.5, &x.Median}, {0.99, &x.P99}} {
			most, likely, fewest := share(x.Low), share(x.Hit), share(x.High)
			if waited < leastWaits && most > 1-q.of {
				continue
			}
			s := &Share{Value: r.quantile(q.of, likely, lose, c.near, 0), Low: r.quantile(q.of, fewest, lose, c.near, -1), High: r.quantile(q.of, most, lose, c.near, 1)}
			s.Low, s.High = min(s.Low, s.Value), max(s.High, s.Value)
			*q.to = s
		}
	}
}

// calls adds them up.
func calls(all []Waited) (n float64) {
	for _, w := range all {
		n += w.Calls
	}
	return n
}

// quantile is that of the mixture of calls, of which a share waits, and of the others a
// part is late, and a part of all asks for what was asked for just before; at the lower
// end of what is possible (-1), the value (0) or the upper end (1).
func (r *Reads) quantile(q, share, late, near float64, end int) float64 {
	slow := share + (1-share)*late
	if q <= 1-slow {
		i := int(q / (1 - slow) * float64(len(r.Hits)))
		hit, least := r.Hits[min(i, len(r.Hits)-1)], Middle(r.Hits)
		if q < near && r.Warm > 0 {
			hit, least = r.Warm, r.Warm
		}
		switch {
		case end > 0:
			return 2 * hit
		case end < 0:
			return 0.7 * min(hit, least) // read in order, and without a clock around each
		}
		return hit
	}
	both := append(scaled(r.Waits, share), scaled(r.Late, (1-share)*late)...)
	at := (q - (1 - slow)) / slow
	at += float64(end) * 1.645 * math.Sqrt(at*(1-at)/(calls(r.Waits)+calls(r.Late)))
	took := Middle(r.Hits) + WaitAt(SortWaits(both), min(1, max(0, at)))
	switch {
	case end > 0:
		return took * slower
	case end < 0:
		return took * faster
	}
	return took
}

// scaled is the same with so many calls in all.
func scaled(all []Waited, to float64) []Waited {
	n := calls(all)
	out := slices.Clone(all)
	for i := range out {
		out[i].Calls *= to / n
	}
	return out
}

// WaitAt is a quantile of what calls waited, shortest first.
func WaitAt(waits []Waited, q float64) float64 {
	n, seen := calls(waits), 0.0
	for _, w := range waits {
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
