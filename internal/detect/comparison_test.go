package detect

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSuperiority(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5}, 1},
		{[]float64{4, 5}, []float64{1, 2, 3}, 0},
		{[]float64{1, 2}, []float64{1, 2}, 0.5},
		{[]float64{1, 2, 3, 4}, []float64{2.5}, 0.5},
		{[]float64{1, 1, 1, 1000}, []float64{2}, 0.75},
	} {
		if got := Superiority(c.a, c.b); got != c.want {
			t.Errorf("of %v over %v: %g, want %g", c.b, c.a, got, c.want)
		}
	}
}

func TestChangesThatStandOut(t *testing.T) {
	noisy := func(seed uint64, mean, spread float64, n int) []float64 {
		r := rand.New(rand.NewPCG(seed, 1))
		v := make([]float64, n)
		for i := range v {
			v[i] = mean + spread*(r.Float64()-0.5)
		}
		return v
	}
	steady := []float64{100, 101, 99, 100, 100}
	for name, c := range map[string]struct {
		a, b  []float64
		floor float64
		clear bool
	}{
		"twice as much":                 {steady, []float64{200, 201, 199, 200}, 1, true},
		"half as much":                  {steady, []float64{50, 51, 49, 50}, 1, true},
		"by a twentieth, ever so sure":  {steady, []float64{105, 106, 105, 105}, 1, false},
		"too few to tell":               {steady, []float64{200, 200, 200}, 1, false},
		"from nothing to hardly any":    {[]float64{0, 0, 0, 0}, []float64{1, 1, 1, 1}, 100, false},
		"from nothing to much":          {[]float64{0, 0, 0, 0}, []float64{5000, 5000, 5000, 5000}, 100, true},
		"one outlier":                   {steady, []float64{100, 100, 99, 101, 5000}, 1, false},
		"the same noise":                {noisy(1, 100, 100, 500), noisy(2, 100, 100, 500), 1, false},
		"more, but lost in the noise":   {noisy(3, 100, 100, 500), noisy(4, 120, 100, 500), 1, false},
		"more than the noise, long run": {noisy(5, 100, 100, 5000), noisy(6, 190, 100, 5000), 1, true},
	} {
		mean := func(v []float64) (m float64) {
			for _, x := range v {
				m += x / float64(len(v))
			}
			return m
		}
		got := Compare(mean(c.a), mean(c.b), c.a, c.b, c.floor)
		if got.Clear != c.clear || math.IsNaN(got.Factor) || got.Factor <= 0 {
			t.Errorf("%s: %+v", name, got)
		}
		back := Compare(mean(c.b), mean(c.a), c.b, c.a, c.floor)
		if back.Clear != c.clear || math.Abs(back.Factor*got.Factor-1) > 1e-9 {
			t.Errorf("%s, the other way round: %+v", name, back)
		}
	}
}
