package table

import (
	"math"
	"testing"
)

func TestSpark(t *testing.T) {
	nan := math.NaN()
	for want, c := range map[string]struct {
		values []float64
		width  int
	}{
		"":     {nil, 8},
		"▁▁":   {[]float64{0, 0}, 8},
		"▁▅█":  {[]float64{0, 4, 8}, 8},
		"█.▁":  {[]float64{8, nan, -3}, 8},
		"..":   {[]float64{nan, math.Inf(1)}, 8},
		"▅█▁▁": {[]float64{4, 4, 8, 8, nan, 0, 0, 0}, 4},
	} {
		if got := Spark(c.values, c.width); got != want {
			t.Errorf("%v in %d: %q, want %q", c.values, c.width, got, want)
		}
	}
}
