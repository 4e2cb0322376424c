package detect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noise are values around a level that spread by a share of it, of which each
// keeps a part of the one before.
func noise(r *rand.Rand, n int, level, share, keep float64) []float64 {
	v := make([]float64, n)
	x := r.NormFloat64()
	for i := range v {
		x = keep*x + math.Sqrt(1-keep*keep)*r.NormFloat64()
		v[i] = level * (1 + share*x)
	}
	return v
}

func TestChangesAreFoundWhereTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		levels []float64
		each   int
		share  float64
	}{
		"half":               {[]float64{1000, 500}, 20, 0.05},
		"noisy":              {[]float64{1000, 400}, 40, 0.15},
		"hours, 15 % less":   {[]float64{1000, 850}, 2000, 0.04},
		"down and up":        {[]float64{100, 20, 90}, 30, 0.05},
		"to nothing":         {[]float64{800, 0}, 12, 0.05},
		"from nothing":       {[]float64{0, 5}, 12, 0.05},
		"by a factor of 1e6": {[]float64{1, 1e6}, 10, 0.2},
	} {
		r := rand.New(rand.NewPCG(1, 2)) // the same whatever the order of the cases
		var v []float64
		for _, level := range c.levels {
			v = append(v, noise(r, c.each, level, c.share, 0)...)
		}
		v[c.each/2] = math.NaN()
		v[c.each/3] *= 20 // an outlier
		got := Changes(v)
		if len(got) != len(c.levels)-1 {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, g := range got {
			at := (i + 1) * c.each
			if g.At < at-2 || g.At > at+2 || math.Abs(g.Before-c.levels[i]) > (0.1+c.share)*c.levels[i] || math.Abs(g.After-c.levels[i+1]) > (0.1+c.share)*c.levels[i+1] {
				t.Errorf("%s: %+v, want one at %d from %g to %g", name, g, at, c.levels[i], c.levels[i+1])
			}
		}
	}
}

// What does not stay at another level is no change, nor is what is too small.
func TestLookAlikesAreNoChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	level := func(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }
	burst := level(100, 50)
	copy(burst[40:], level(changeLeast/2, 900))
	saw := make([]float64, 300)
	for i := range saw {
		saw[i] = 100 + 80*float64(i%3)
	}
	for name, v := range map[string][]float64{
		"empty": nil, "few": {1, 9, 1, 9, 9, 9}, "constant": level(500, 7), "unknown": level(50, math.NaN()),
		"burst": burst, "saw": saw, "5 % less": append(level(100, 100), level(100, 95)...),
	} {
		if got := Changes(v); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, c := range []struct {
		n           int
		share, keep float64
		most        int // of 100 series
	}{{40, 0.05, 0, 0}, {40, 0.5, 0, 1}, {400, 0.3, 0, 0}, {400, 0.2, 0.5, 1}, {400, 0.04, 0.9, 1}} {
		found := 0
		for range 100 {
			if len(Changes(noise(r, c.n, 1000, c.share, c.keep))) > 0 {
				found++
			}
		}
		if found > c.most {
			t.Errorf("%d values that spread by %g and keep %g: changes in %d of 100", c.n, c.share, c.keep, found)
		}
	}
}

// A window a second over eight hours is looked through at once.
func BenchmarkChanges(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	v := append(noise(r, 20000, 1000, 0.2, 0.3), noise(r, 8800, 700, 0.2, 0.3)...)
	for b.Loop() {
		if got := Changes(v); len(got) > 3 {
			b.Fatalf("%+v", got)
		}
	}
}
