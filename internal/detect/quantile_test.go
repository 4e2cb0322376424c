package detect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesAreRightTo6Percent(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	var times Times
	all := make([]time.Duration, 10007)
	for i := range all {
		all[i] = time.Duration(math.Exp(r.Float64() * 30))
		times.Add(all[i])
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := float64(all[int(math.Ceil(q*float64(len(all))))-1])
		if got := float64(times.Quantile(q)); got < want*0.999 || got > want*1.0626 {
			t.Errorf("quantile %g is %g, want %g", q, got, want)
		}
	}
	if times.Max() != all[len(all)-1] {
		t.Errorf("the longest is %v, want %v", times.Max(), all[len(all)-1])
	}
}

func TestQuantilesOfLittle(t *testing.T) {
	var times Times
	if got := times.Quantile(0.99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for _, d := range []time.Duration{0, 1, 15, 16, 31, 32, math.MaxInt64, -5} {
		var one Times
		one.Add(d)
		if got := one.Quantile(0.5); got != max(d, 0) {
			t.Errorf("of %d alone: %d", d, got)
		}
	}
}
