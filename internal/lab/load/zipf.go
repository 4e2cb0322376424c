package load

import (
	"math"
	"math/rand/v2"
)

// zipf draws ranks from 1 to n, rank k with a probability that falls as
// k^-exponent, for any exponent above zero, without a table: rejection-inversion
// (W. Hörmann, G. Derflinger: Rejection-inversion to generate variates from
// monotone discrete distributions, ACM TOMACS 6(3), 1996).
type zipf struct {
	exponent  float64
	n         float64
	low, high float64 // the range of the area below the hat
	squeeze   float64 // so close to its rank a value is taken unseen
}

func newZipf(exponent float64, n int64) *zipf {
	z := &zipf{exponent: exponent, n: float64(n)}
	z.low, z.high = z.area(1.5)-1, z.area(z.n+0.5)
	z.squeeze = 2 - z.inverse(z.area(2.5)-z.density(2))
	return z
}

func (z *zipf) density(x float64) float64 { return math.Pow(x, -z.exponent) }

// area is an antiderivative of density.
func (z *zipf) area(x float64) float64 {
	if e := 1 - z.exponent; math.Abs(e) > 1e-9 {
		return math.Expm1(e*math.Log(x)) / e
	}
	return math.Log(x)
}

func (z *zipf) inverse(a float64) float64 {
	if e := 1 - z.exponent; math.Abs(e) > 1e-9 {
		return math.Exp(math.Log1p(max(e*a, -1)) / e)
	}
	return math.Exp(a)
}

// next draws a rank.
func (z *zipf) next(rng *rand.Rand) int64 {
	for {
		a := z.low + rng.Float64()*(z.high-z.low)
		x := z.inverse(a)
		k := min(max(math.Round(x), 1), z.n)
		if k-x <= z.squeeze || a >= z.area(k+0.5)-z.density(k) {
			return int64(k)
		}
	}
}
