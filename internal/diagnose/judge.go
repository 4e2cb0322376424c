package diagnose

import (
	"cmp"
	"fmt"
	"slices"

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
	c := newCaseAgainst(w, target, before)
	r := &Report{
		Version: 1,
		Window:  Span{Start: w.Start, Seconds: w.Seconds()},
		Primary: Healthy,
	}
	if c.held() {
		r.Victim = c.victimCulprit()
	}
	r.Gaps = losses(w)
	for _, g := range w.Gaps {
		if c.matters(&g) {
			r.Gaps = append(r.Gaps, g.Why)
		}
	}
	var found []Finding
	var excluded []Excluded
	causes := List()
	over := map[ID][]ID{}
	for _, cause := range causes {
		v := cause.Judge(c)
		switch {
		case v.Answer == Yes && v.Weight < weightLimit && cause.ID != "device-errors": // an error is always worth a word
			excluded = append(excluded, Excluded{Cause: cause.ID,
				Why: "it holds, but explains only " + percent(v.Weight) + " of the waiting"})
		case v.Answer == Yes:
			over[cause.ID] = cause.Over
			found = append(found, c.finding(&cause, &v))
		case v.Answer == CannotTell:
			r.CannotTell = append(r.CannotTell, Missing{Cause: cause.ID, Missing: v.Why})
		default:
			excluded = append(excluded, Excluded{Cause: cause.ID, Why: v.Why})
		}
	}
	rank(found, over)
	c.besideQueue(found)
	for i := range found {
		found[i].Excluded = excluded
	}
	switch {
	case len(found) > 0:
		r.Primary = found[0].Cause
	case c.held() || c.blind():
		r.Primary = Unknown
	default:
		found = []Finding{c.healthy(excluded)}
	}
	if r.Primary == "cpu-saturated" { // waits, though for no I/O
		r.Victim = c.victimCulprit()
	}
	r.Findings, r.Excluded = found, excluded
	return r
}

// losses says what kinds of events were lost, and how many.
func losses(w *sample.Window) []string {
	var out []string
	w.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
		out = append(out, fmt.Sprintf("%s lost: %s", sample.Counted(s.Sum(), "event"), e.Class))
	})
	slices.Sort(out)
	return out
}

func (c *Case) finding(cause *Cause, v *Verdict) Finding {
	return Finding{
		Cause: cause.ID, Title: cause.Title, Answer: Yes,
		Confidence: clamp01(v.Confidence), Weight: clamp01(v.Weight), WeightOf: cmp.Or(v.WeightOf, c.basis()), Culprit: v.Culprit,
		Evidence: v.Evidence, Disprove: v.Disprove, Advice: v.Advice,
	}
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
