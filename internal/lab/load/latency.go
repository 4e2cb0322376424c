package load

import (
	"math/bits"
	"time"
)

// latencies is a histogram with 64 steps to the power of two: a percentile is
// at most 1.6 % off. The maximum is exact. The lab has its own, as what iocause
// counts is held to it.
type latencies struct {
	counts [64 * 40]int64
	n      int64
	max    time.Duration
}

func (l *latencies) add(d time.Duration) {
	d = max(d, 0)
	l.counts[slot(uint64(d))]++
	l.n++
	l.max = max(l.max, d)
}

// slot numbers the steps: values below 64 ns have one each.
func slot(v uint64) int {
	if v < 64 {
		return int(v)
	}
	shift := bits.Len64(v) - 7
	return min((shift+1)*64+int(v>>shift)-64, 64*40-1)
}

// value is the upper end of a step.
func value(slot int) time.Duration {
	if slot < 64 {
		return time.Duration(slot)
	}
	shift := slot/64 - 1
	return time.Duration(uint64(slot%64+65)<<shift - 1)
}

func (l *latencies) merge(o *latencies) {
	for i, c := range o.counts {
		l.counts[i] += c
	}
	l.n += o.n
	l.max = max(l.max, o.max)
}

func (l *latencies) quantile(q float64) time.Duration {
	want := int64(q*float64(l.n) + 0.5)
	var seen int64
	for i, c := range l.counts {
		if seen += c; c > 0 && seen >= want {
			return min(value(i), l.max)
		}
	}
	return l.max
}
