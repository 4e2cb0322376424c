package lab

import (
	"math"
	"testing"
)

func TestInterval(t *testing.T) {
	// Means 2 and 12, each with variance 1: 4 degrees of freedom, 2.776*sqrt(2/3).
	diff, half, ok := interval([]float64{1, 2, 3}, []float64{11, 12, 13})
	if !ok || diff != 10 || math.Abs(half-2.2666) > 0.001 {
		t.Errorf("%g +- %g, %v", diff, half, ok)
	}
	if _, _, ok := interval([]float64{1, 2}, []float64{1, 2, 3}); ok {
		t.Error("two repeats gave an interval")
	}
}

func TestRatio(t *testing.T) {
	low, high, ok := Ratio([]float64{10, 20, 40}, []float64{100, 200, 400})
	if !ok || math.Abs(low*high-100) > 1e-6 || low >= 10 || high <= 10 {
		t.Errorf("%g to %g, %v; want an interval around 10", low, high, ok)
	}
	if _, _, ok := Ratio([]float64{1, 2, 0}, []float64{1, 2, 3}); ok {
		t.Error("a zero has a ratio")
	}
}
