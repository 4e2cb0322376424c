package fleet

import (
	"math"
	"slices"
)

// Counts is how often something goes together: of hosts that have a fact or
// not, and are affected or not.
type Counts struct {
	With, WithAll   int // affected hosts that have it, and all that have it
	Affected, Hosts int // all affected hosts, and all
}

// Exact is the chance that as many affected hosts or more have a fact, where it
// has nothing to do with it: Fisher's exact test, one-sided (R. A. Fisher,
// Statistical Methods for Research Workers, 1934, section 21.02).
func Exact(c Counts) float64 {
	sum := 0.0
	for k := c.With; k <= min(c.Affected, c.WithAll); k++ {
		sum += math.Exp(choose(c.Affected, k) + choose(c.Hosts-c.Affected, c.WithAll-k) - choose(c.Hosts, c.WithAll))
	}
	return min(sum, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// FalseDiscovery makes of chances the rates of false ones among all that are as
// small or smaller (Y. Benjamini and Y. Hochberg, Controlling the False
// Discovery Rate, 1995).
func FalseDiscovery(chances []float64) []float64 {
	order := make([]int, len(chances))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case chances[a] < chances[b]:
			return -1
		case chances[a] > chances[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(chances))
	least := 1.0
	for rank := len(order); rank > 0; rank-- {
		i := order[rank-1]
		least = min(least, chances[i]*float64(len(chances))/float64(rank))
		out[i] = least
	}
	return out
}

// Stratified is the chance of Exact's kind over strata that are judged each by
// itself: that of Cochran, Mantel and Haenszel, one-sided, with the correction
// for continuity (N. Mantel and W. Haenszel, 1959). 1 where no stratum tells.
func Stratified(strata []Counts) float64 {
	seen, expected, variance := 0.0, 0.0, 0.0
	for _, c := range strata {
		n, has, sick := float64(c.Hosts), float64(c.WithAll), float64(c.Affected)
		if c.Hosts < 2 {
			continue
		}
		seen += float64(c.With)
		expected += has * sick / n
		variance += has * (n - has) * sick * (n - sick) / (n * n * (n - 1))
	}
	if variance <= 0 || seen-expected <= 0.5 {
		return 1
	}
	return math.Erfc((seen-expected-0.5)/math.Sqrt(2*variance)) / 2
}
