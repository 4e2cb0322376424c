package sample

import "math/bits"

// Histogram counts values in powers of two: Counts[i] holds values v with
// 2^i <= v < 2^(i+1); Counts[0] also holds 0. Unit is the values' unit
// ("nanoseconds" and "bytes" are in use). Sum is exact.
type Histogram struct {
	Unit   string
	Counts [48]uint64
	Sum    float64
}

// Bucket is the index of v's bucket.
func Bucket(v uint64) int {
	if v == 0 {
		return 0
	}
	return min(bits.Len64(v)-1, 47)
}

// Add counts one value.
func (h *Histogram) Add(v uint64) {
	h.Counts[Bucket(v)]++
	h.Sum += float64(v)
}

// Merge adds o's counts.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o.Counts {
		h.Counts[i] += c
	}
	h.Sum += o.Sum
}

// since is what was counted after before; all of it when that cannot be.
func (h *Histogram) since(before *Histogram) Histogram {
	rise := *h
	for i, c := range before.Counts {
		if c > h.Counts[i] {
			return *h
		}
		rise.Counts[i] -= c
	}
	rise.Sum -= before.Sum
	return rise
}

// N is how many values were counted.
func (h *Histogram) N() uint64 {
	var n uint64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Quantile estimates the q-quantile (0 to 1) by linear interpolation inside
// its bucket; the error is below the bucket's width. It is 0 when empty.
func (h *Histogram) Quantile(q float64) float64 {
	n := h.N()
	if n == 0 {
		return 0
	}
	want := q * float64(n)
	var seen float64
	for i, c := range h.Counts {
		if c == 0 {
			continue
		}
		if seen+float64(c) >= want {
			lo := float64(uint64(1) << i)
			if i == 0 {
				lo = 0
			}
			hi := float64(uint64(1) << (i + 1))
			return lo + (hi-lo)*(want-seen)/float64(c)
		}
		seen += float64(c)
	}
	return float64(uint64(1) << 48)
}
