package diagnose

// confidence grows with the margin (0 to 1) to the threshold that decided;
// figures from counters alone, not page by page, are trusted less.
func confidence(margin float64, exact bool) float64 {
	s := leastSure + (mostSure-leastSure)*clamp01(margin)
	if !exact {
		s *= 0.75
	}
	return s
}

const (
	leastSure = 0.6
	// mostSure is how often a verdict with the widest margin was right where nobody had
	// tuned it (docs/score.md): the clearest figures can be those of another cause.
	mostSure = 0.96
)

// atStake is how much of its confidence a finding keeps, 0 to 1. A cause that takes
// little of the victim's time may go without a gain that anybody notices; from a
// quarter of the time on there is one.
func (c *Case) atStake(f *Finding) float64 {
	share, known := c.takes(f)
	if !known {
		return 1
	}
	return 0.8 + 0.2*clamp01((share-waitShareLimit)/(groupShareLimit-waitShareLimit))
}

// takes is the part of the victim's time, 0 to 1, that a cause takes.
func (c *Case) takes(f *Finding) (share float64, known bool) {
	v := &c.victim
	switch {
	case c.w.Told || f.WeightOf != OfWaiting:
		return 0, false
	case !c.held():
		share = clamp01(v.delay / c.w.Seconds())
		if v.awake() < mostlyAsleep*c.w.Seconds() { // who keeps to a rate sleeps less instead
			share = min(share, waitShareLimit)
		}
		return share, f.Cause == CPUSaturated
	}
	return f.Weight * max(c.suffering(v), v.stalled(c.w.Seconds()), c.contended(v)), true
}

// leastTaken is the part of the victim's time that a cause must take to be worth
// naming: without it the program would be 1.05 times as fast.
const leastTaken = 0.05

// little says of causes that take less than that how much they take.
func (c *Case) little(found []Finding) map[ID]string {
	out := map[ID]string{}
	for i := range found {
		if share, known := c.takes(&found[i]); known && share < leastTaken {
			out[found[i].Cause] = "it applies, but takes only " + percent(share) + " of the time awake"
		}
	}
	return out
}
