package detect

import (
	"math/bits"
	"time"
)

// Times counts durations in bins that are 1/16 of their power of two wide, so
// that a quantile is right to 6 %. The zero value is empty.
type Times struct {
	bins [60 << 4]uint32
	n    uint64
	max  time.Duration
}

// Add counts one.
func (t *Times) Add(d time.Duration) {
	d = max(d, 0)
	t.bins[timesBin(uint64(d))]++
	t.n++
	t.max = max(t.max, d)
}

func timesBin(v uint64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)<<4 + int(v>>shift&15)
}

// Quantile is the time that a share q of all stays at or below, 0 without any.
func (t *Times) Quantile(q float64) time.Duration {
	left := uint64(q*float64(t.n) + 0.5)
	for i, n := range t.bins {
		if uint64(n) >= left && n > 0 {
			if i < 16 {
				return time.Duration(i)
			}
			shift := i>>4 - 1
			return min(t.max, time.Duration((16+uint64(i&15)+1)<<shift-1))
		}
		left -= min(left, uint64(n))
	}
	return t.max
}

// Max is the longest.
func (t *Times) Max() time.Duration { return t.max }
