// Package verify asks whether a fix helped: it holds what a program does now, or in
// a later recording, against what it did when a cause was found, and against what
// the advice promised.
package verify

import (
	"errors"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
)

// Helps is the factor from which on more work is more than chance makes, as in the
// lab: a tenth, where the times are long and the disk is even (see chance).
const Helps = 1.10

// Result is what came of a fix, in a word.
type Result string

// The results.
const (
	Helped    Result = "helped"      // more work, and the cause is gone
	InPart    Result = "in part"     // more work, and the cause is still there
	Gone      Result = "gone"        // the cause is gone; as much work as before
	Unchanged Result = "unchanged"   // as before
	Worse     Result = "worse"       // less work, and longer waits
	Unknown   Result = "cannot tell" // see the notes
)

// ErrNobody is a finding that is about no program.
var ErrNobody = errors.New("the finding names no waiting program, so there is none to watch")

// Side is a time that was judged.
type Side struct {
	Start   time.Time   `json:"start"`
	Seconds float64     `json:"seconds"`
	Primary diagnose.ID `json:"primary"`
	Title   string      `json:"title"`
	Waits   *float64    `json:"waits"` // the share of its time that the program is held up, 0 to 1; null where not known
	Work    *Work       `json:"work"`  // null where not known
}

// Outcome is what came of a fix.
type Outcome struct {
	Version int              `json:"version"`
	Victim  diagnose.Culprit `json:"victim"`
	Cause   diagnose.ID      `json:"cause"` // that was found
	Result  Result           `json:"result"`
	Before  Side             `json:"before"`
	After   Side             `json:"after"`
	// Factor is how many times as much work it does; null where not known.
	Factor *float64 `json:"factor"`
	// Promised is the first advice then, Held whether the factor lies where it said;
	// null where it promised nothing.
	Promised *diagnose.Advice `json:"promised"`
	Held     *bool            `json:"held"`
	Notes    []string         `json:"notes"`
}

// Seen is a window and its finding.
type Seen struct {
	Window *sample.Window
	Report *diagnose.Report
}

// Target is whom to look at again: the programs of that name, since processes may
// have been started anew to fix it.
func Target(r *diagnose.Report) (diagnose.Target, error) {
	if r.Victim.Comm == "" || len(r.Findings) == 0 || r.Findings[0].Answer != diagnose.Yes || r.Primary == diagnose.Healthy {
		return diagnose.Target{}, ErrNobody
	}
	return diagnose.Target{Comm: r.Victim.Comm}, nil
}

// Compare holds one time against an earlier one. after is judged for Target of
// before.
func Compare(before, after *Seen) *Outcome {
	found := &before.Report.Findings[0]
	o := &Outcome{Version: 1, Victim: before.Report.Victim, Cause: found.Cause, Notes: []string{}}
	kind := kindOf(before.Report)
	o.Before, o.After = side(before, o.Victim.Comm, kind), side(after, o.Victim.Comm, kind)
	if len(found.Advice) > 0 {
		o.Promised = &found.Advice[0]
	}
	if b, a := o.Before.Work, o.After.Work; b != nil && a != nil && b.PerSecond > 0 {
		f := a.PerSecond / b.PerSecond
		o.Factor = &f
	}
	if p := o.Promised; p != nil && o.Factor != nil && p.Low+p.High > 0 {
		held := *o.Factor >= p.Low && (p.High == 0 || *o.Factor <= p.High)
		o.Held = &held
	}
	o.judge(after.Report, chance(before, after))
	return o
}

// side is what one time tells of the program.
func side(s *Seen, comm, kind string) Side {
	r := s.Report
	out := Side{Start: r.Window.Start, Seconds: r.Window.Seconds, Primary: r.Primary, Title: r.Title}
	if r.VictimWaits != nil && r.Victim.Comm == comm {
		out.Waits = &r.VictimWaits.Share
	} else if r.Blind == "" {
		out.Waits = longest(r, comm)
	}
	out.Work = workOf(s.Window, kind, func(pid int) bool { return pid != 0 && s.Window.Processes[pid].Comm == comm })
	return out
}

// longest is the share of the program among those that wait longest: who is not
// among them waits for nothing worth a word.
func longest(r *diagnose.Report, comm string) *float64 {
	share := 0.0
	for i := range r.Waiters {
		if r.Waiters[i].Who.Comm == comm {
			share = max(share, r.Waiters[i].Share)
		}
	}
	return &share
}

// judge says it in a word, and what speaks against it. limit is the factor from which
// on a change is more than chance.
func (o *Outcome) judge(now *diagnose.Report, limit float64) {
	gone := now.Primary != diagnose.Unknown
	for i := range now.Findings {
		gone = gone && (now.Findings[i].Cause != o.Cause || now.Findings[i].Answer != diagnose.Yes)
	}
	more := o.Factor != nil && *o.Factor >= limit
	less := o.Factor != nil && *o.Factor <= 1/limit
	longer := o.Before.Waits != nil && o.After.Waits != nil && *o.After.Waits > *o.Before.Waits+0.05
	switch {
	case o.Factor == nil && !gone:
		o.Result = Unknown
		o.note("its work was not measured on both sides")
	case more && gone:
		o.Result = Helped
	case more:
		o.Result = InPart
	case less && longer:
		o.Result = Worse
	case less:
		o.Result = Unknown
		o.note("it does less than before and waits no longer: it may have less load now")
	case gone:
		o.Result = Gone
	default:
		o.Result = Unchanged
	}
	o.doubt(limit)
	if now.Primary == diagnose.Unknown {
		o.note("now: " + now.Title)
	}
}

func (o *Outcome) note(s string) { o.Notes = append(o.Notes, s) }
