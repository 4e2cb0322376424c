package lines

import (
	"math"

	"iocause/internal/sample"
)

// Spread counts n values that lie from lo to below hi, of which no more is known,
// in the powers of two that they overlap.
func Spread(h *sample.Histogram, lo, hi float64, n uint64) {
	if n == 0 || hi > 1<<52 {
		return
	}
	left := n
	for b := sample.Bucket(uint64(lo)); b < len(h.Counts) && left > 0; b++ {
		top := math.Ldexp(1, b+1)
		if top >= hi {
			h.Counts[b] += left
			break
		}
		from := max(lo, math.Ldexp(1, b))
		if b == 0 {
			from = lo
		}
		part := min(left, uint64(math.Round(float64(n)*(top-from)/(hi-lo))))
		h.Counts[b] += part
		left -= part
	}
	h.Sum += float64(n) * (lo + hi) / 2
}
