package load

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The share of every rank is what the formula says, within what so many draws
// leave to chance; the numbers start from a seed and are the same every time.
func TestZipfShares(t *testing.T) {
	const draws = 200_000
	for _, c := range []struct {
		exponent float64
		n        int64
	}{{0.5, 100}, {0.99, 1000}, {1, 50}, {1.2, 1000}, {2, 10}, {1.1, 1}} {
		z := newZipf(c.exponent, c.n)
		rng := rand.New(rand.NewPCG(7, 0))
		counts := make([]float64, c.n+1)
		for range draws {
			counts[z.next(rng)]++
		}
		sum := 0.0
		for k := int64(1); k <= c.n; k++ {
			sum += math.Pow(float64(k), -c.exponent)
		}
		for _, k := range []int64{1, 2, 3, 5, 10, c.n} {
			if k > c.n {
				continue
			}
			p := math.Pow(float64(k), -c.exponent) / sum
			sigma := math.Sqrt(draws * p * (1 - p))
			if d := math.Abs(counts[k] - draws*p); d > 5*sigma+1 {
				t.Errorf("exponent %g, rank %d of %d: %.0f draws, want %.0f +- %.0f", c.exponent, k, c.n, counts[k], draws*p, sigma)
			}
		}
	}
}

// Threads share the hot blocks, which lie anywhere in the region.
func TestZipfOffsets(t *testing.T) {
	spec := Spec{Order: Zipf, Zipf: 1.2, BlockSize: 4096, Seed: 3}
	const blocks = 1000
	hottest := map[int64]bool{}
	for thread := range 3 {
		o := newOffsets(&spec, blocks*4096, thread)
		counts := map[int64]int{}
		for range 20_000 {
			off, length, ok := o.next()
			if !ok || length != 4096 || off%4096 != 0 || off < 0 || off >= blocks*4096 {
				t.Fatalf("%d bytes at %d, %v", length, off, ok)
			}
			counts[off]++
		}
		best := int64(0)
		for off, n := range counts {
			if n > counts[best] {
				best = off
			}
		}
		hottest[best] = true
	}
	if len(hottest) != 1 || hottest[0] {
		t.Errorf("the hottest block of three threads: %v, want one, and not the first of the file", hottest)
	}
}
