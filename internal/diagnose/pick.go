package diagnose

import "slices"

// most is the key with the largest value, the lowest of several; 0 of none.
func most(by map[int]float64) int {
	best := 0
	for k, v := range by {
		if v > by[best] || v == by[best] && (best == 0 || k < best) {
			best = k
		}
	}
	return best
}

// weightedMedian is the value at which half of the sum of all values lies in
// larger ones.
func weightedMedian(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	var total, sum float64
	for _, v := range sorted {
		total += v
	}
	for _, v := range sorted {
		if sum += v; sum >= total/2 {
			return v
		}
	}
	return 0
}
