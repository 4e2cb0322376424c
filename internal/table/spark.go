package table

import (
	"math"
	"slices"
	"strings"
)

// Spark draws values as a row of bars, from zero to the highest, no wider than
// width columns: each is the mean of the values that share its place. A dot is
// a place without a known value.
func Spark(values []float64, width int) string {
	const bars = "▁▂▃▄▅▆▇█"
	if len(values) == 0 || width < 1 {
		return ""
	}
	width = min(width, len(values))
	means := make([]float64, width)
	for i := range means {
		sum, n := 0.0, 0.0
		for _, v := range values[i*len(values)/width : (i+1)*len(values)/width] {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				sum, n = sum+max(v, 0), n+1
			}
		}
		means[i] = sum / n // NaN of nothing
	}
	highest := 0.0
	for _, m := range means {
		if !math.IsNaN(m) {
			highest = max(highest, m)
		}
	}
	levels := slices.Collect(strings.SplitSeq(bars, ""))
	var b strings.Builder
	for _, m := range means {
		switch {
		case math.IsNaN(m):
			b.WriteByte('.')
		case highest == 0:
			b.WriteString(levels[0])
		default:
			b.WriteString(levels[min(int(m/highest*float64(len(levels))), len(levels)-1)])
		}
	}
	return b.String()
}
