package detect

import "math"

// Superiority is the probability that a value of b is larger than one of a,
// where equal ones count half (A. Vargha, H. D. Delaney, A critique and
// improvement of the CL common language effect size statistics, 2000). It is
// 0.5 where neither tends to be larger. It needs no distribution, and outliers
// count no more than others. Both must have values.
func Superiority(a, b []float64) float64 {
	var larger float64
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				larger++
			case y == x:
				larger += 0.5
			}
		}
	}
	return larger / float64(len(a)*len(b))
}

// Comparison says how a figure changed from a to b.
type Comparison struct {
	// Factor is how many times as much b is, with floor added to both, so that
	// a change from nothing to hardly anything is none.
	Factor float64
	// Superiority is that of b; -1 where there are too few values to tell.
	Superiority float64
	// Clear tells a change that stands out: by a tenth at least, and in nine of
	// ten pairs of values in the same direction.
	Clear bool
}

// What makes a change stand out.
const (
	leastFactor      = 1.1
	leastSuperiority = 0.9
)

// LeastValues are how many a side must have: fewer are apart by chance too
// often.
const LeastValues = 4

// Compare compares a figure of two spans: each span's own, and the values that
// it had in parts of the span.
func Compare(a, b float64, as, bs []float64, floor float64) Comparison {
	c := Comparison{Factor: (b + floor) / (a + floor), Superiority: -1}
	if len(as) < LeastValues || len(bs) < LeastValues {
		return c
	}
	c.Superiority = Superiority(thinned(as), thinned(bs))
	c.Clear = c.Large() && max(c.Superiority, 1-c.Superiority) >= leastSuperiority
	return c
}

// Large tells whether the change is by a tenth at least, by chance or not.
func (c Comparison) Large() bool { return math.Max(c.Factor, 1/c.Factor) >= leastFactor }

// mostValues keeps the pairs that are compared below a million.
const mostValues = 1000

// thinned leaves out values, evenly, where there are more than it takes to
// tell.
func thinned(v []float64) []float64 {
	if len(v) <= mostValues {
		return v
	}
	out := make([]float64, mostValues)
	for i := range out {
		out[i] = v[i*len(v)/mostValues]
	}
	return out
}
