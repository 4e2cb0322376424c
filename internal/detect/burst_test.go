package detect

import (
	"math"
	"math/rand/v2"
	"testing"
)

// find runs a finder over bins.
func find(bins []Load) (found []Burst) {
	f := NewBurstFinder(0)
	keep := func(b Burst) { found = append(found, b) }
	for _, l := range bins {
		f.Add(l, keep)
	}
	f.End(keep)
	return found
}

// steady are bins with the same number of requests of 4 KiB each.
func steady(n int, ops uint64) []Load {
	bins := make([]Load, n)
	for i := range bins {
		bins[i] = Load{ops, ops * 4096}
	}
	return bins
}

func TestBurstsAreFoundToTheMillisecond(t *testing.T) {
	for _, base := range []uint64{0, 1, 5, 60} {
		bins := steady(3500, base)
		put := func(from, to int, ops uint64) {
			for i := from; i < to; i++ {
				bins[i] = Load{ops, ops * 4096}
			}
		}
		put(17, 20, 400)     // in the first second, before there is an average
		put(1500, 1501, 350) // one bin
		put(2200, 2211, 300) // with a gap of two bins
		put(2205, 2207, base)
		put(3499, 3500, 500) // at the very end
		want := []Burst{
			{17, 20, Load{1200, 1200 * 4096}, Load{400, 400 * 4096}},
			{1500, 1501, Load{350, 350 * 4096}, Load{350, 350 * 4096}},
			{2200, 2211, Load{2700 + 2*base, (2700 + 2*base) * 4096}, Load{300, 300 * 4096}},
			{3499, 3500, Load{500, 500 * 4096}, Load{500, 500 * 4096}},
		}
		got := find(bins)
		if len(got) != len(want) {
			t.Fatalf("on top of %d a bin: %+v", base, got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("on top of %d a bin, burst %d is %+v, want %+v", base, i, got[i], want[i])
			}
		}
	}
}

// Few large requests are a burst of bytes.
func TestBurstOfBytes(t *testing.T) {
	bins := steady(2000, 1)
	for i := 1400; i < 1410; i++ {
		bins[i] = Load{4, 4 << 20}
	}
	got := find(bins)
	if len(got) != 1 || got[0].From != 1400 || got[0].To != 1410 || got[0].Bytes != 40<<20 {
		t.Errorf("%+v", got)
	}
}

// What looks alike and is none: nothing, few requests, a steady rate, random
// arrivals at any rate, a load that begins and stays.
func TestLookAlikesAreNoBursts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for name, bins := range map[string][]Load{
		"idle": steady(5000, 0), "steady": steady(5000, 100), "slow": steady(5000, 1),
	} {
		if got := find(bins); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, mean := range []float64{0.01, 0.3, 0.7, 1, 2, 5, 20, 100} {
		bins := make([]Load, 60000)
		for i := range bins {
			n := poisson(r, mean)
			bins[i] = Load{n, n * 4096}
		}
		if got := find(bins); len(got) != 0 {
			t.Errorf("random arrivals, %g a bin: %+v", mean, got)
		}
	}
	begins := append(steady(3000, 0), steady(9000, 50)...)
	for _, b := range find(begins) {
		if b.To-b.From > BurstBins/2+burstEvery {
			t.Errorf("a load that begins and stays is a burst from %d to %d", b.From, b.To)
		}
	}
}

// poisson draws a number of arrivals (Knuth's method).
func poisson(r *rand.Rand, mean float64) uint64 {
	n, p, limit := uint64(0), r.Float64(), math.Exp(-mean)
	for p > limit {
		n++
		p *= r.Float64()
	}
	return n
}

// The claim of burstSpread: less than one false burst in an hour. The chance
// of a bin to reach the threshold is summed from the distribution itself; the
// median and deviation are those that a long run has.
func TestRandomArrivalsRarelyReachTheThreshold(t *testing.T) {
	for mean := 0.05; mean < 300; mean *= 1.07 {
		var bins []Load
		p, sum := math.Exp(-mean), 0.0
		for k := 0; sum < 1-1e-13 && k < 2000; k++ {
			sum += p
			for range int(p * 20000) {
				bins = append(bins, Load{Ops: uint64(k)})
			}
			p *= mean / float64(k+1)
		}
		at := int(math.Ceil(ThresholdOf(bins).Ops))
		tail := 0.0
		p = math.Exp(-mean)
		for k := range at + 400 {
			if k >= at {
				tail += p
			}
			p *= mean / float64(k+1)
		}
		if perHour := tail * 3600 * 1000; perHour > 1 {
			t.Errorf("%.2f arrivals a bin: %.2g false bursts an hour with a threshold of %d", mean, perHour, at)
		}
	}
}

func TestPlateau(t *testing.T) {
	var bins []uint64
	for i := range 1000 {
		switch {
		case i%4 == 0:
			bins = append(bins, uint64(98+i%3)) // capped near 100
		case i == 501:
			bins = append(bins, 900) // one outlier
		default:
			bins = append(bins, uint64(i%2)*20)
		}
	}
	p := PlateauOf(bins)
	if p.Level < 98 || p.Level > 100 || p.Share < 0.25 || p.Share > 0.26 || p.At(20) {
		t.Errorf("%+v", p)
	}
	if p := PlateauOf(make([]uint64, 10)); p != (Plateau{}) || p.At(0) {
		t.Errorf("idle: %+v", p)
	}
	if p := PlateauOf(nil); p != (Plateau{}) {
		t.Errorf("nothing: %+v", p)
	}
}
