// Package judge makes a report of a window, live or recorded: what diagnose says
// of it, and what only the outside knows: the machine, what the run cost, and
// what the window is compared with.
package judge

import (
	"fmt"
	"math"
	"slices"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/table"
)

// Window judges a window of the machine with this fingerprint, nil where that is
// not known, knowing what was before, nil for nothing.
func Window(w *sample.Window, target diagnose.Target, before *Past, fingerprint any, cost source.Cost) (*diagnose.Report, error) {
	against, err := before.against(target, fingerprint)
	if err != nil {
		return nil, err
	}
	r := diagnose.JudgeAgainst(w, target, against)
	r.Host = fingerprint
	r.Cost = diagnose.Cost{CPUSeconds: cost.CPUSeconds, BPFSeconds: cost.BPFSeconds, RSSBytes: cost.RSSBytes, LostEvents: cost.Lost}
	Tidy(r)
	return r, nil
}

// Live judges a window of this machine, which has just been watched by this
// process, knowing what was before, nil for nothing.
func Live(h *host.Host, w *sample.Window, target diagnose.Target, before *Past) (*diagnose.Report, error) {
	cost, costErr := source.ReadCost(h, w)
	if costErr != nil {
		w.Gaps = append(w.Gaps, sample.Gap{Why: costErr.Error()})
	}
	fingerprint, err := h.Fingerprint()
	if err != nil {
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf("fingerprint: %v", err)})
	}
	return Window(w, target, before, fingerprint, cost)
}

// Tidy makes a report fit for output: lists are empty rather than null, gaps
// are said once, and figures that are no numbers, which JSON cannot hold,
// become gaps.
func Tidy(r *diagnose.Report) {
	var gaps []string
	for _, g := range r.Gaps {
		if !slices.Contains(gaps, g) {
			gaps = append(gaps, g)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, share := range []*float64{&f.Confidence, &f.Weight} {
			if math.IsNaN(*share) || math.IsInf(*share, 0) {
				*share = 0
				gaps = append(gaps, fmt.Sprintf("confidence or weight of %s is not a number", f.Cause))
			}
		}
		f.Evidence = slices.DeleteFunc(f.Evidence, func(e diagnose.Evidence) bool {
			bad := math.IsNaN(e.Value) || math.IsInf(e.Value, 0)
			if bad {
				gaps = append(gaps, fmt.Sprintf("%s, evidence of %s, is not a number", e.Name, f.Cause))
			}
			return bad
		})
		f.Evidence, f.Excluded, f.Advice = listed(f.Evidence), listed(f.Excluded), listed(f.Advice)
	}
	r.Findings, r.CannotTell, r.Gaps = listed(r.Findings), listed(r.CannotTell), listed(gaps)
	r.Excluded, r.Waiters = listed(r.Excluded), listed(r.Waiters)
}

// listed is a list that JSON writes as one, be it empty.
func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Rename gives processes the names that they were last seen with: what ended
// before the window did may be known by the name that it was forked with.
func Rename(w *sample.Window, procs map[int]string) {
	for pid, comm := range procs {
		if p, ok := w.Processes[pid]; ok && comm != "" {
			p.Comm = comm
			w.Processes[pid] = p
		}
	}
}

// DescribeRun says in the window what is odd about how a command ran: a verdict
// on a program that did not do its work is one on something else.
func DescribeRun(w *sample.Window, ran time.Duration, code int, how string) {
	if ran < session.Shortest {
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf(
			"the command ran for %s, which is too short to show why it waits", table.Duration(ran.Seconds()))})
	}
	if code != 0 {
		w.Gaps = append(w.Gaps, sample.Gap{Why: fmt.Sprintf(
			"the command failed (%s): a successful run may differ", how)})
	}
}
