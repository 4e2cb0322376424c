package sample

import (
	"cmp"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Times counts durations in slots: what it says of them is off by a part of the
// duration, however long that is. The longest is exact. The zero value is empty; nil
// is, too.
type Times struct {
	Scale   Scale         // of the slots; the zero Scale is KernelScale
	Longest time.Duration // none is longer, whatever the slots say

	slots []uint64 // how many, up to the last that has any
	n     uint64   // in all
}

// Scale is how wide slots are. Durations below 2^First nanoseconds share slot 0; then
// 2^Bits slots make a power of two, for so many Powers. What is longer is in the last.
type Scale struct{ First, Bits, Powers int }

// KernelScale is that of kernel programs (latency.bpf.c): a slot is at most an eighth as
// wide as the durations in it, from 128 ns to 34 s.
func KernelScale() Scale { return Scale{First: 7, Bits: 3, Powers: 28} }

// Slots is how many there are.
func (s Scale) Slots() int { return 1 + s.Powers<<s.Bits }

// Slot is where a duration of so many nanoseconds is counted.
func (s Scale) Slot(ns uint64) int {
	e := bits.Len64(ns) - 1
	if e < s.First {
		return 0
	}
	part := ns << max(s.Bits-e, 0) >> max(e-s.Bits, 0) & (1<<s.Bits - 1)
	return min(1+(e-s.First)<<s.Bits+int(part), s.Slots()-1)
}

// bounds are the ends of a slot in nanoseconds: low is in it, high is not.
func (s Scale) bounds(slot int) (low, high float64) {
	if slot == 0 {
		return 0, math.Ldexp(1, s.First)
	}
	each := 1 << s.Bits
	width := math.Ldexp(1, (slot-1)>>s.Bits+s.First-s.Bits)
	low = width * float64(each+(slot-1)&(each-1))
	return low, low + width
}

func (t *Times) scale() Scale { return cmp.Or(t.Scale, KernelScale()) }

// Add counts one; a negative one counts as none.
func (t *Times) Add(d time.Duration) {
	d = max(d, 0)
	t.Count(t.scale().Slot(uint64(d)), 1)
	t.Longest = max(t.Longest, d)
}

// Count adds n to a slot. One that is not known is the last.
func (t *Times) Count(slot int, n uint64) {
	slot = min(slot, t.scale().Slots()-1)
	if slot >= len(t.slots) {
		t.slots = append(t.slots, make([]uint64, slot+1-len(t.slots))...)
	}
	t.slots[slot] += n
	t.n += n
}

// Merge adds those of the same scale.
func (t *Times) Merge(o *Times) {
	for slot, n := range o.slots {
		if n > 0 {
			t.Count(slot, n)
		}
	}
	t.Longest = max(t.Longest, o.Longest)
}

// Plus is the sum of both, which may be nil.
func (t *Times) Plus(o *Times) *Times {
	if t == nil || o == nil {
		return cmp.Or(t, o)
	}
	sum := *t
	sum.slots = slices.Clone(t.slots)
	sum.Merge(o)
	return &sum
}

// Minus is what came after before, which may be nil.
func (t *Times) Minus(before *Times) *Times {
	if t == nil || before == nil {
		return t
	}
	rest := Times{Scale: t.Scale, Longest: t.Longest}
	for slot, n := range t.slots {
		if slot < len(before.slots) {
			n -= min(before.slots[slot], n)
		}
		if n > 0 {
			rest.Count(slot, n)
		}
	}
	return &rest
}

// Reset forgets all, but keeps the room for them.
func (t *Times) Reset() {
	clear(t.slots)
	t.n, t.Longest = 0, 0
}

// N is how many were counted.
func (t *Times) N() uint64 {
	if t == nil {
		return 0
	}
	return t.n
}

// Quantile is what a share q of all stays at or below: the end of a slot. It is 0 of
// nothing.
func (t *Times) Quantile(q float64) time.Duration {
	_, high, ok := t.at(uint64(q*float64(t.n) + 0.5))
	if !ok || high >= float64(t.Longest) {
		return t.Longest
	}
	return time.Duration(math.Ceil(high)) - 1
}

// QuantileOf is the q-quantile of n durations, of which those that were not counted
// are 0: the middle of a slot, and so off by at most half of its width.
func (t *Times) QuantileOf(q float64, n uint64) time.Duration {
	rank := uint64(math.Ceil(q * float64(n)))
	zeros := n - min(t.N(), n)
	if t == nil || rank <= zeros {
		return 0
	}
	low, high, ok := t.at(rank - zeros)
	if !ok {
		return t.Longest
	}
	return min(time.Duration((low+high)/2), t.Longest)
}

// at are the bounds of the slot that the one of this rank, counted from 1, is in; not
// ok for the last slot, which has no end, and for more than there are.
func (t *Times) at(rank uint64) (low, high float64, ok bool) {
	var seen uint64
	for slot, n := range t.slots {
		if seen += n; n > 0 && seen >= rank {
			low, high = t.scale().bounds(slot)
			return low, high, slot < t.scale().Slots()-1
		}
	}
	return 0, 0, false
}

// Most is the longest: exact where that is not a longer one that was taken out by
// Minus, else the end of its slot.
func (t *Times) Most() time.Duration {
	if t == nil || t.n == 0 {
		return 0
	}
	slot := len(t.slots) - 1
	for t.slots[slot] == 0 {
		slot--
	}
	if _, high := t.scale().bounds(slot); slot < t.scale().Slots()-1 && high < float64(t.Longest) {
		return time.Duration(high)
	}
	return t.Longest
}

// timesJSON is how Times are written: the slots that are not empty, with their counts.
type timesJSON struct {
	Longest time.Duration `json:"longest_ns"`
	Slots   [][2]uint64   `json:"slots"`
}

// MarshalJSON implements json.Marshaler.
func (t *Times) MarshalJSON() ([]byte, error) {
	out := timesJSON{Longest: t.Longest, Slots: [][2]uint64{}}
	for slot, n := range t.slots {
		if n > 0 {
			out.Slots = append(out.Slots, [2]uint64{uint64(slot), n})
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler, for Times of the scale that they have. The
// file may be damaged: a slot that is not known counts as the last.
func (t *Times) UnmarshalJSON(b []byte) error {
	var in timesJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*t = Times{Scale: t.Scale, Longest: in.Longest}
	for _, s := range in.Slots {
		t.Count(int(min(s[0], uint64(t.scale().Slots()-1))), s[1])
	}
	return nil
}
