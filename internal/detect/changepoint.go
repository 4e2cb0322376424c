package detect

import (
	"cmp"
	"math"
	"slices"
)

// Change is where a series goes to another level and stays there.
type Change struct {
	At            int     // index of the first value at the new level
	Before, After float64 // medians of the stretches on both sides, up to the next change
}

const (
	// changeLeast is how many values a level has at least, most of them near its
	// median: fewer are an outlier or a burst, which is not a change that stays.
	changeLeast = 5
	// changePenalty, times log n, is what a further change must explain. In
	// units of the ranks' variance a change costs its place and its level; three
	// halves of what BIC takes for two parameters, as in the modified BIC of
	// Zhang and Siegmund, "A modified Bayes information criterion", Biometrics
	// 63, 2007, which counts that the place was searched for.
	changePenalty = 3
	// changeShare of the higher level is what the levels differ by at least:
	// a smaller change is no reason to look for a cause, however sure it is.
	changeShare = 0.1
	// changeApart is how often, at the least, a value from one side of a change
	// lies on its side of one from the other: what normal distributions have
	// whose means are two standard deviations apart (Vargha and Delaney, "A
	// critique and improvement of the CL common language effect size statistics",
	// J. Educ. Behav. Stat. 25, 2000). It keeps out the slow wander of a busy
	// machine, whose neighbouring values are alike by more than chance.
	changeApart = 0.92
)

// Changes are the changes of level of a series, in order. NaN is a value that
// is not known. The values are replaced by their ranks, so that outliers and
// the shape of the distribution do not matter (Lung-Yut-Fong, Lévy-Leduc,
// Cappé, "Homogeneity and change-point detection tests for multivariate data
// using rank statistics", J. SFdS 156, 2015), and the best places are found
// exactly by pruned dynamic programming (PELT: Killick, Fearnhead, Eckley,
// "Optimal detection of changepoints with a linear computational cost", JASA
// 107, 2012). Those too small to matter are then taken out, the smallest first.
func Changes(values []float64) []Change {
	var v []float64
	var index []int // in values
	for i, x := range values {
		if !math.IsNaN(x) {
			v, index = append(v, x), append(index, i)
		}
	}
	cuts := bestCuts(standardRanks(v))
	for {
		changes, worst, least := make([]Change, len(cuts)), -1, 1.0
		edges := append(append([]int{0}, cuts...), len(v))
		for i, at := range cuts {
			left, right := slices.Sorted(slices.Values(v[edges[i]:at])), slices.Sorted(slices.Values(v[at:edges[i+2]]))
			before, after := left[len(left)/2], right[len(right)/2]
			changes[i] = Change{index[at], before, after}
			share := math.Abs(after-before) / max(math.Abs(before), math.Abs(after), math.SmallestNonzeroFloat64)
			if size := min(share/changeShare, apart(left, right)/changeApart); size < least {
				worst, least = i, size
			}
		}
		if worst < 0 {
			return changes
		}
		cuts = slices.Delete(cuts, worst, worst+1)
	}
}

// apart is how often a value of one sorted side lies above one of the other,
// or below it, whichever is more often: from a half to 1. Equal ones are half.
func apart(a, b []float64) float64 {
	below, same, i, k := 0, 0, 0, 0
	for _, v := range b {
		for i < len(a) && a[i] < v {
			i++
		}
		for k = max(k, i); k < len(a) && a[k] == v; k++ {
		}
		below += i
		same += k - i
	}
	share := (float64(below) + float64(same)/2) / float64(len(a)) / float64(len(b))
	return max(share, 1-share)
}

// standardRanks are the ranks of values, equal ones sharing theirs, with mean
// 0 and variance 1; nil when all values are the same.
func standardRanks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	ranks := make([]float64, len(v))
	mean := float64(len(v)-1) / 2
	sum := 0.0
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && v[order[to]] == v[order[from]] {
			to++
		}
		rank := float64(from+to-1)/2 - mean
		for _, i := range order[from:to] {
			ranks[i] = rank
			sum += rank * rank
		}
		from = to
	}
	if sum == 0 {
		return nil
	}
	scale := math.Sqrt(float64(len(v)) / sum)
	for i := range ranks {
		ranks[i] *= scale
	}
	return ranks
}

// bestCuts are the first indices of all levels but the first, such that the
// squared distances from the levels' means, and the penalty for each, are
// least.
func bestCuts(v []float64) []int {
	n := len(v)
	if n < 2*changeLeast {
		return nil
	}
	sum := make([]float64, n+1)
	for i, x := range v {
		sum[i+1] = sum[i] + x
	}
	// The sum of squares is the same for all cuts, and left out.
	cost := func(from, to int) float64 {
		s := sum[to] - sum[from]
		return -s * s / float64(to-from)
	}
	penalty := changePenalty * math.Log(float64(n))
	best := make([]float64, n+1) // of the first so many values
	last := make([]int, n+1)     // where the last level of that begins
	best[0] = -penalty
	for to := 1; to < changeLeast; to++ {
		best[to] = math.Inf(1)
	}
	candidates := []int{}
	for to := changeLeast; to <= n; to++ {
		if from := to - changeLeast; from == 0 || !math.IsInf(best[from], 1) {
			candidates = append(candidates, from)
		}
		best[to] = math.Inf(1)
		for _, from := range candidates {
			if c := best[from] + cost(from, to) + penalty; c < best[to] {
				best[to], last[to] = c, from
			}
		}
		// One that is worse by the penalty now stays worse (Killick et al.,
		// theorem 3.1).
		candidates = slices.DeleteFunc(candidates, func(from int) bool { return best[from]+cost(from, to) > best[to] })
	}
	var cuts []int
	for at := last[n]; at > 0; at = last[at] {
		cuts = append(cuts, at)
	}
	slices.Reverse(cuts)
	return cuts
}
