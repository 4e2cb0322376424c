package query

import (
	"math"
	"testing"
)

func TestEngineering(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 1.5: "1.5", 999: "999", 19367000000: "19.37G", 0.00123456: "1.235m", -2048: "-2.048k",
		1e-7: "100n", 1e30: "1e+30", 123456: "123.5k", math.Inf(1): "+Inf",
	} {
		if got := engineering(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
