package diagnose

import (
	"cmp"
	"slices"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Target narrows the question: who is it that finds I/O slow? The zero value
// asks for the whole host. At most one field is set.
type Target struct {
	PIDs   []int // processes, those that have ended included
	Comm   string
	Cgroup string // memory or I/O cgroup, and what is below it
	Device string
}

// weightLimit is the share of the waiting below which a cause is not worth
// naming.
const weightLimit = 0.10

// Judge asks every cause and names the primary one. Host and Cost of the
// report are left to the caller.
func Judge(w *sample.Window, target Target) *Report { return JudgeAgainst(w, target, nil) }

// JudgeAgainst is Judge with a window to compare with, which the causes that
// need one ask; nil for none.
func JudgeAgainst(w *sample.Window, target Target, before *Before) *Report {
	if w.Seconds() <= 0 {
		return ofNoLength(w)
	}
	c := newCaseAgainst(w, target, before)
	r := &Report{
		Version: 1,
		Window:  Interval{Start: w.Start, Seconds: w.Seconds()},
		Primary: Healthy,
	}
	if c.held() {
		r.Victim = c.victimCulprit()
	}
	lost := figure.Losses(w)
	r.Gaps = said(lost, false)
	for _, g := range w.Gaps {
		if c.matters(&g) {
			r.Gaps = append(r.Gaps, g.Why)
		}
	}
	if why := c.coarse(); why != "" {
		r.Gaps = append(r.Gaps, why)
	}
	r.Gaps = append(r.Gaps, said(lost, true)...)
	j := c.askAll()
	r.CannotTell, r.Excluded = j.missing, j.excluded
	switch {
	case len(j.found) > 0:
		r.Findings, r.Primary = j.found, j.found[0].Cause
	case c.held() || c.blind():
		r.Primary = Unknown
		if !c.held() { // it is known who waits; only not what for
			r.Doubts = c.doubts()
		}
	default:
		if r.Doubts = c.doubts(); len(r.Doubts) > 0 {
			r.Primary = Unknown
			break
		}
		calm := c.healthy(j.excluded, len(j.missing))
		if why := c.contradicted(&calm); why != "" {
			r.Primary, r.Doubts = Unknown, []string{why}
			break
		}
		r.Findings = []Finding{calm}
	}
	r.Title = c.title(r)
	r.Blind = c.blindness()
	if r.Primary == CPUSaturated { // waits, though for no I/O
		r.Victim = c.victimCulprit()
	}
	c.beside(r)
	identify(r.Findings)
	return r
}

// ofNoLength is the report of a window in which no time went by, as when the clock
// was set back by as much as was watched: every figure a second would be infinite.
func ofNoLength(w *sample.Window) *Report {
	const why = "the clock stopped or was set back while this was observed: no rate can be computed. Observe again"
	r := &Report{Version: 1, Window: Interval{Start: w.Start}, Primary: Unknown, Title: "the observed interval has no length", Gaps: append(said(figure.Losses(w), false), why)}
	for _, cause := range List() {
		r.CannotTell = append(r.CannotTell, Missing{Cause: cause.ID, Missing: why})
	}
	return r
}

// judged is what all causes answered for one victim.
type judged struct {
	found    []Finding // the primary cause first
	missing  []Missing
	excluded []Excluded
}

// askAll asks every cause.
func (c *Case) askAll() judged {
	var j judged
	over := map[ID][]ID{}
	for _, cause := range List() {
		v := cause.Judge(c)
		switch v.Answer {
		case Yes:
			f := c.finding(&cause, &v)
			if why := c.contradicted(&f); why != "" {
				j.missing = append(j.missing, Missing{Cause: cause.ID, Missing: why})
				continue
			}
			over[cause.ID] = cause.Over
			j.found = append(j.found, f)
		case CannotTell:
			j.missing = append(j.missing, Missing{Cause: cause.ID, Missing: v.Why})
		default:
			j.excluded = append(j.excluded, Excluded{Cause: cause.ID, Why: v.Why})
		}
	}
	rank(j.found, over)
	little := c.little(j.found)
	c.besideQueue(j.found)
	// after the weights are final: what is left of one beside a queue for
	// processors may be too little to be the answer
	j.found = slices.DeleteFunc(j.found, func(f Finding) bool {
		why, small := little[f.Cause]
		if f.Weight < weightLimit {
			why, small = "it applies, but explains only "+percent(f.Weight)+" of the "+f.WeightOf, true
		}
		if !small || f.Cause == DeviceErrors { // an error is always worth a word
			return false
		}
		j.excluded = append(j.excluded, Excluded{Cause: f.Cause, Why: why})
		return true
	})
	for i := range j.found {
		j.found[i].Excluded = j.excluded
	}
	return j
}

// said is what of the losses is small, or is not.
func said(lost []figure.Loss, small bool) (out []string) {
	for _, l := range lost {
		if l.Small() == small {
			out = append(out, l.Text)
		}
	}
	return out
}

// likelyMost is the most that may be believed of a cause where nobody measured who
// waits for what: the figures of the host and its devices fit several causes.
const likelyMost = 0.70

func (c *Case) finding(cause *Cause, v *Verdict) Finding {
	likely := !c.w.Told && !c.counted()
	if likely {
		v.Confidence = min(v.Confidence, likelyMost)
	}
	f := Finding{
		Cause: cause.ID, Title: cause.Title, Answer: Yes, Likely: likely,
		Confidence: clamp01(v.Confidence), Weight: clamp01(v.Weight), WeightOf: cmp.Or(v.WeightOf, c.basis()), Culprit: v.Culprit,
		Evidence: v.Evidence, Disprove: v.Disprove, Advice: v.Advice,
	}
	f.Confidence *= c.atStake(&f)
	return f
}

// rank puts the primary cause first: one that no other cause explains, and of
// these the one with the largest weight. The rest follow by weight.
func rank(found []Finding, over map[ID][]ID) {
	explained := func(of *Finding) bool {
		for _, f := range found {
			// a small cause does not explain a large one, as a rule
			enough := 2*f.Weight >= of.Weight || f.Weight >= weightLimit && isRoot(f.Cause, of.Cause)
			if slices.Contains(over[f.Cause], of.Cause) && enough {
				return true
			}
		}
		return false
	}
	byWeight := func(a, b Finding) int { return cmp.Compare(b.Weight, a.Weight) }
	slices.SortStableFunc(found, func(a, b Finding) int {
		ea, eb := explained(&a), explained(&b)
		if ea != eb {
			if ea {
				return 1
			}
			return -1
		}
		return byWeight(a, b)
	})
}

// clamp01 keeps a share that rounding has pushed out of range in range; shares
// are built so that anything but rounding cannot.
func clamp01(x float64) float64 { return max(0, min(1, x)) }
