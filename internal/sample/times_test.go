package sample

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The scales in use: of kernel programs, of traces, of the lab.
func scales() []Scale {
	return []Scale{KernelScale(), {First: 4, Bits: 4, Powers: 60}, {Bits: 6, Powers: 46}}
}

// A slot is where its bounds say, no wider than its part of a power of two, and the
// slots follow each other.
func TestSlots(t *testing.T) {
	for _, s := range scales() {
		last, end := s.Slots()-1, 0.0
		for slot := range last {
			low, high := s.bounds(slot)
			if low != end || slot > 0 && high-low > math.Ldexp(low, -s.Bits) {
				t.Errorf("%+v: slot %d is %g to %g, the one before ends at %g", s, slot, low, high, end)
			}
			end = high
			first, beyond := math.Ceil(low), math.Ceil(high)
			if first == beyond || high >= 1<<63 { // narrower than a nanosecond, or none that long
				continue
			}
			if s.Slot(uint64(first)) != slot || s.Slot(uint64(beyond)-1) != slot || s.Slot(uint64(beyond)) <= slot {
				t.Errorf("%+v: slot %d is %g to %g, which are in %d and %d", s, slot, low, high, s.Slot(uint64(first)), s.Slot(uint64(beyond)-1))
			}
		}
		if low, _ := s.bounds(last); low < 30e9 {
			t.Errorf("%+v: the last slot begins at %g ns", s, low)
		}
		if s.Slot(1<<63) != min(last, s.Slot(1<<63)) || s.Slot(0) != 0 {
			t.Errorf("%+v: 0 is in slot %d, the longest in %d", s, s.Slot(0), s.Slot(1<<63))
		}
	}
}

// A quantile is at most the width of a slot above the truth, one of the middle half of
// that to either side.
func TestQuantilesAreNearTheTruth(t *testing.T) {
	const n, zeros = 10007, 997
	for _, s := range scales() {
		r := rand.New(rand.NewPCG(7, 11))
		times := Times{Scale: s}
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(math.Exp(5 + r.Float64()*18)) // 148 ns to 10 s
			times.Add(all[i])
		}
		slices.Sort(all)
		withZeros := append(make([]time.Duration, zeros), all...)
		width := math.Ldexp(1, -s.Bits)
		for _, q := range []float64{0.01, 0.199, 0.5, 0.9, 0.99, 0.999, 1} {
			want := float64(all[int(math.Round(q*n))-1])
			if got := float64(times.Quantile(q)); got < want || got > want*(1+width) {
				t.Errorf("%+v: quantile %g is %g, want %g", s, q, got, want)
			}
			want = float64(withZeros[int(math.Ceil(q*(n+zeros)))-1])
			if got := float64(times.QuantileOf(q, n+zeros)); math.Abs(got-want) > want*width/2+1 {
				t.Errorf("%+v: quantile %g with zeros is %g, want %g", s, q, got, want)
			}
		}
		if times.Most() != all[n-1] || times.N() != n {
			t.Errorf("%+v: %d, the longest %v, want %v", s, times.N(), times.Most(), all[n-1])
		}
	}
}

func TestTimesOfLittle(t *testing.T) {
	var none *Times
	if none.N() != 0 || none.QuantileOf(0.5, 3) != 0 || none.Most() != 0 {
		t.Error("none has some")
	}
	for _, s := range scales() {
		empty := Times{Scale: s}
		if got := empty.Quantile(0.99); got != 0 || empty.Most() != 0 {
			t.Errorf("of nothing: %v, %v", got, empty.Most())
		}
		for _, d := range []time.Duration{0, 1, 15, 16, 31, 32, 127, 128, math.MaxInt64, -5} {
			one := Times{Scale: s}
			one.Add(d)
			if got := one.Quantile(0.5); got != max(d, 0) || one.Most() != max(d, 0) {
				t.Errorf("%+v: of %d alone: %d, %d", s, d, got, one.Most())
			}
		}
	}
}

func TestTimesSinceTheLastLook(t *testing.T) {
	a := &Times{}
	a.Add(100)
	a.Add(200)
	b := a.Plus(&Times{})
	b.Add(50)
	if d := b.Minus(a); d.N() != 1 || d.Most() != 128 || b.N() != 3 || a.N() != 2 || b.Most() != 200 {
		t.Errorf("%+v of %+v and %+v", d, a, b)
	}
	if none := (*Times)(nil); none.Plus(b) != b || b.Plus(none) != b || b.Minus(none) != b || none.Minus(b) != nil {
		t.Error("nothing changes something")
	}
	b.Reset()
	if b.N() != 0 || b.Most() != 0 || b.Quantile(0.5) != 0 {
		t.Errorf("something is left: %+v", b)
	}
}

func TestTimesComeBack(t *testing.T) {
	was := &Times{}
	for _, d := range []time.Duration{0, 3 * time.Microsecond, 3 * time.Microsecond, time.Minute} {
		was.Add(d)
	}
	b, err := json.Marshal(was)
	if err != nil || string(b) != `{"longest_ns":60000000000,"slots":[[0,1],[36,2],[224,1]]}` {
		t.Fatalf("%s, %v", b, err)
	}
	var is Times
	if err := json.Unmarshal(b, &is); err != nil || is.N() != 4 || is.Most() != time.Minute || is.Quantile(0.5) != was.Quantile(0.5) {
		t.Errorf("%+v, %v", is, err)
	}
	if err := json.Unmarshal([]byte(`{"slots":[[18446744073709551615,3]]}`), &is); err != nil || is.N() != 3 {
		t.Errorf("a slot that is not known: %+v, %v", is, err)
	}
}
