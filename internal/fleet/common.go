// Package fleet is the statistics of many hosts: what those with a cause have in
// common that healthy ones have not, and which disks are slower than their like.
// It is pure: no clock, no network.
package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// Fact is a setting of a host, and its value.
type Fact struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
}

// Host is one host with what is known of it. It may have several values of one
// setting, as with models of disks.
type Host struct {
	Affected bool
	Facts    []Fact
}

// Factor is what affected hosts have in common.
type Factor struct {
	Facts  []Fact  // all that just these hosts have; they cannot be told apart
	Counts Counts  // of hosts
	Chance float64 // Exact
	Rate   float64 // FalseDiscovery among all facts
	// Beside is the factor, by its place in the list, that this one goes along
	// with: among hosts that are alike in that one it makes no difference. -1 of
	// one that stands for itself.
	Beside int
}

// Lift is how many times as often hosts that have it are affected; +Inf where
// no other one is.
func (f *Factor) Lift() float64 {
	without := f.Counts.Hosts - f.Counts.WithAll
	here := float64(f.Counts.With) / float64(f.Counts.WithAll)
	if sick := f.Counts.Affected - f.Counts.With; sick > 0 && without > 0 {
		return here / (float64(sick) / float64(without))
	}
	return math.Inf(1)
}

const (
	// MostFalse is the rate of false discoveries that is put up with.
	MostFalse = 0.01
	// LeastLift is how many times as often hosts with a factor are affected, at
	// least: of many hosts the smallest difference is significant.
	LeastLift = 1.5
	// leastTogether is the chance beyond which a factor explains nothing that
	// one before it does not.
	leastTogether = 0.001
	mostFactors   = 50
	mostStrata    = 6 // factors that strata are made of
)

// Common is what affected hosts have in common that others have not, the
// clearest first, and how many facts were tested. Facts that all hosts have, or
// fewer than two affected ones, are none.
func Common(hosts []Host) (factors []Factor, tested int) {
	all := Counts{Hosts: len(hosts)}
	sets := map[Fact][]int32{}
	for i, h := range hosts {
		if h.Affected {
			all.Affected++
		}
		for _, f := range h.Facts {
			if s := sets[f]; len(s) == 0 || s[len(s)-1] != int32(i) {
				sets[f] = append(s, int32(i))
			}
		}
	}
	if all.Affected == 0 || all.Affected == all.Hosts {
		return nil, 0
	}
	kept := merged(hosts, sets, all)
	chances := make([]float64, len(kept))
	for i := range kept {
		chances[i] = kept[i].Chance
	}
	var found []candidate
	for i, rate := range FalseDiscovery(chances) {
		kept[i].Rate = rate
		if rate <= MostFalse && kept[i].Lift() >= LeastLift {
			found = append(found, kept[i])
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Chance, b.Chance), -cmp.Compare(a.Lift(), b.Lift()), compareFacts(a.Facts[0], b.Facts[0]))
	})
	return apart(hosts, found[:min(len(found), mostFactors)]), len(kept)
}

func compareFacts(a, b Fact) int {
	return cmp.Or(strings.Compare(a.Setting, b.Setting), strings.Compare(a.Value, b.Value))
}

// candidate is a factor with the hosts that have it, in order.
type candidate struct {
	Factor
	hosts []int32
}

// merged are the facts that are tested; those that the same hosts have are one.
func merged(hosts []Host, sets map[Fact][]int32, all Counts) []candidate {
	var out []candidate
	same := map[string]int{}
	for _, fact := range slices.SortedFunc(maps.Keys(sets), compareFacts) {
		set := sets[fact]
		c := all
		c.WithAll = len(set)
		for _, i := range set {
			if hosts[i].Affected {
				c.With++
			}
		}
		if c.WithAll == c.Hosts || c.With < 2 {
			continue
		}
		key := identity(set)
		if at, ok := same[key]; ok && slices.Equal(out[at].hosts, set) {
			out[at].Facts = append(out[at].Facts, fact)
			continue
		}
		same[key] = len(out)
		out = append(out, candidate{Factor{Facts: []Fact{fact}, Counts: c, Chance: Exact(c), Beside: -1}, set})
	}
	return out
}

// identity is short, and differs for most sets.
func identity(set []int32) string {
	h := uint64(14695981039346656037)
	for _, i := range set {
		h = (h ^ uint64(i)) * 1099511628211
	}
	return string([]byte{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24), byte(h >> 32), byte(h >> 40), byte(h >> 48), byte(h >> 56)})
}

// apart tells factors that stand for themselves from those that only go along
// with one of them: the first is the clearest, and of each next one it is asked
// whether it makes a difference among hosts that are alike in those before.
func apart(hosts []Host, found []candidate) []Factor {
	strata := make([]uint8, len(hosts)) // bit by bit: has the nth of own
	var own []int
	out := make([]Factor, 0, len(found))
	for i := range found {
		f := found[i].Factor
		if len(own) > 0 {
			if Stratified(within(hosts, strata, found[i].hosts)) > leastTogether {
				f.Beside = nearest(found, own, i)
			}
		}
		if f.Beside < 0 && len(own) < mostStrata {
			for _, h := range found[i].hosts {
				strata[h] |= 1 << len(own)
			}
			own = append(own, i)
		}
		out = append(out, f)
	}
	return out
}

// within are the counts of a fact in each stratum.
func within(hosts []Host, strata []uint8, has []int32) []Counts {
	counts := make([]Counts, 1<<mostStrata)
	for i, h := range hosts {
		counts[strata[i]].Hosts++
		if h.Affected {
			counts[strata[i]].Affected++
		}
	}
	for _, i := range has {
		counts[strata[i]].WithAll++
		if hosts[i].Affected {
			counts[strata[i]].With++
		}
	}
	return counts
}

// nearest is that of own which shares most hosts with a candidate.
func nearest(found []candidate, own []int, at int) int {
	best, most := own[0], -1.0
	for _, o := range own {
		both := shared(found[o].hosts, found[at].hosts)
		if alike := float64(both) / float64(len(found[o].hosts)+len(found[at].hosts)-both); alike > most {
			best, most = o, alike
		}
	}
	return best
}

// shared is how many two sorted sets have in common.
func shared(a, b []int32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b, n = a[1:], b[1:], n+1
		}
	}
	return n
}
