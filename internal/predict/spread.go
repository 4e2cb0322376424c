package predict

import "math"

// all is how much was asked for while the tally counts, in watched pages.
func (t *tally) all() float64 {
	if t.exact == nil {
		asked, _, _, _ := t.sums(t.settled)
		return asked
	}
	n := 0.0
	for b := t.settled; b < blocks; b++ {
		n += t.exact[b]
	}
	return n
}

// missing is the share of what was asked for that was not there, of what is not
// known the half, and its standard error for the choice of the pages. Whether a few
// pages that are asked for all the time are among those that are watched makes much
// of what they are asked for, and nothing of what is missed. So where all that was
// asked for is known, misses are corrected for the difference as far as groups of
// pages that are asked for more have more of them, too (regression estimator:
// Cochran, Sampling Techniques, 1977, chapter 7).
func (t *tally) missing() (share, sd float64) {
	asked, cold, unknown, _ := t.sums(t.settled)
	if asked == 0 || t.all() == 0 {
		return 0, 0
	}
	var a, m [groups]float64
	for b := t.settled; b < blocks; b++ {
		for g := range groups {
			a[g] += float64(t.asked[b][g])
			m[g] += float64(t.cold[b][g])
		}
	}
	slope := cold / asked // of misses over what is asked for
	if t.exact != nil {
		var with, square float64
		for g := range groups {
			with += (a[g] - asked/groups) * (m[g] - cold/groups)
			square += (a[g] - asked/groups) * (a[g] - asked/groups)
		}
		if square > 0 {
			slope = min(1, max(0, with/square))
		}
	}
	rest := 0.0
	for g := range groups {
		d := m[g] - cold/groups - slope*(a[g]-asked/groups)
		rest += d * d
	}
	all := t.all()
	missed := cold - unknown/2 + slope*(all-asked)
	return min(1, max(0, missed/all)), math.Sqrt(rest*groups/(groups-2)) / all
}

// overTime is the standard error of the share of misses for the time that was
// looked at, from what is left when each block is left out (the jackknife of a
// ratio; Efron and Stein, Annals of Statistics 9, 1981).
func (t *tally) overTime() float64 {
	asked, cold, _, _ := t.sums(t.settled)
	var without []float64
	mean := 0.0
	for b := t.settled; b < blocks; b++ {
		var n, m float64
		for g := range groups {
			n += float64(t.asked[b][g])
			m += float64(t.cold[b][g])
		}
		if asked-n > 0 {
			without = append(without, (cold-m)/(asked-n))
			mean += without[len(without)-1]
		}
	}
	n := float64(len(without))
	if n < 2 {
		return 0
	}
	sum := 0.0
	for _, x := range without {
		sum += (x - mean/n) * (x - mean/n)
	}
	return math.Sqrt((n-1)/n*sum) * asked / t.all()
}

// wanders is how far the hit ratios of the thirds of the time that is judged are
// apart.
func (t *tally) wanders() float64 {
	low, high := 1.0, 0.0
	size := (blocks - t.settled) / 3
	for from := t.settled; from+size <= blocks; from += size {
		var asked, cold float64
		for b := from; b < from+size; b++ {
			for g := range groups {
				asked += float64(t.asked[b][g])
				cold += float64(t.cold[b][g])
			}
		}
		if asked < least/10 {
			continue
		}
		low, high = min(low, 1-cold/asked), max(high, 1-cold/asked)
	}
	return max(0, high-low)
}

// histogram has the stack distances of the reads in question in the later half of
// a trace.
type histogram struct {
	within []float64 // reads at a distance, in steps; ascending sums
	step   int
	all    float64
	first  float64 // of files that are read over and over, and not asked for before
	whole  int     // where so many fit, these are hits, too
}

// histogram works them out. Pages that were in the cache at the beginning count as
// at the distance of the real cache's size.
func (p *played) histogram() *histogram {
	const steps = 4096
	h := &histogram{within: make([]float64, steps+1), step: max(1, (p.Pages+steps-1)/steps), whole: p.whole}
	half := uint32(p.Length.Milliseconds() / 2)
	pages := newStack(p.Pages)
	for i := range p.Events {
		e := &p.Events[i]
		switch e.Kind {
		case Evicted, Added:
			continue
		case Dropped:
			pages.forget(e.Page)
			continue
		}
		if e.At >= half && e.Kind == Read && e.Asked {
			h.all++
			d := pages.distance(e.Page)
			if d < 0 && !p.fresh[e.Page] {
				d = len(p.began) + p.ghost - 1
			}
			switch {
			case d >= 0:
				h.within[min(steps, d/h.step)]++
			case p.fileIn(p.over, e.Page):
				h.first++
			}
		}
		pages.use(e.Page)
	}
	for i := 1; i < len(h.within); i++ {
		h.within[i] += h.within[i-1]
	}
	return h
}

// hit is the hit ratio of an LRU cache of so many watched pages.
func (h *histogram) hit(room int) float64 {
	if h.all == 0 || room <= 0 {
		return 0
	}
	hits := h.within[min(len(h.within)-1, room/h.step)]
	if holds(room, h.whole) {
		hits += h.first
	}
	return hits / h.all
}
