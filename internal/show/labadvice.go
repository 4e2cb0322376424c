package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/prove"
	"iocause/internal/lab/space"
	"iocause/internal/store/advice"
	"iocause/internal/tool/verify"
)

// ErrNoRemedy is a situation of the lab whose advice cannot be held against anything.
var ErrNoRemedy = errors.New("the diagnosis found no cause that the lab has a remedy for in this situation")

// advised is the first advice of a report, as of now.
func advised(report []byte, now time.Time) (advice.Entry, error) {
	var r struct {
		Victim   struct{ Comm string }
		Findings []struct {
			Cause  string
			Advice []struct {
				Do, Expect string
				Low        float64 `json:"expect_low"`
				High       float64 `json:"expect_high"`
				Saves      *diagnose.Saves
			}
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return advice.Entry{}, fmt.Errorf("reading the report: %w", err)
	}
	if len(r.Findings) == 0 || len(r.Findings[0].Advice) == 0 {
		return advice.Entry{}, ErrNoRemedy
	}
	f := &r.Findings[0]
	a := f.Advice[0]
	e := advice.Entry{Given: now, Program: r.Victim.Comm, Cause: f.Cause, Do: a.Do, Expect: a.Expect, Low: a.Low, High: a.High}
	if a.Saves != nil {
		e.Saves = &advice.Saved{Value: a.Saves.Share, Low: a.Saves.Low, High: a.Saves.High, Of: a.Saves.Of}
	}
	return e, nil
}

// came is what a remedy gave, by how many times as much is done with it.
func came(factor float64, now time.Time) *advice.Outcome {
	o := &advice.Outcome{At: now, Result: string(verify.Unchanged), Factor: &factor, Notes: []string{}}
	switch {
	case factor >= verify.Helps:
		o.Result = string(verify.Helped)
	case factor <= 1/verify.Helps:
		o.Result = string(verify.Worse)
	}
	return o
}

// AdvisedIn is what was advised in a situation of the lab, and what its remedy gave.
func AdvisedIn(p *space.Proof, now time.Time) (advice.Entry, error) {
	tried, ok := prove.Of(p.Effects, p.Verdict.Primary)
	if !ok {
		return advice.Entry{}, fmt.Errorf("verifying situation %d: %w ('iocause lab prove %d' says what was found)", p.Situation.Seed, ErrNoRemedy, p.Situation.Seed)
	}
	e, err := advised(p.Report, now)
	e.Situation, e.Changes, e.Outcome = p.Situation.Seed, []advice.Change{{At: now, What: tried.Remedy}}, came(tried.Factor, now)
	return e, err
}

// AdvisedOn is the same of the scenario of a name, which it runs with scratch files in a
// folder.
func AdvisedOn(ctx context.Context, h *host.Host, files fs.FS, name, dir string) (e advice.Entry, err error) {
	r, err := lab.Verify(ctx, h, files, name, dir)
	now := h.Now()
	if err == nil {
		e, err = advised(r.Report, now)
	}
	if err == nil && r.Before.Calls <= 0 {
		err = errors.New("the program made no call before the remedy")
	}
	if err != nil {
		return e, fmt.Errorf("verifying scenario %q: %w", name, err)
	}
	e.Scenario, e.Changes, e.Outcome = name, []advice.Change{{At: now, What: r.Do}}, came(r.With.Calls/r.Before.Calls, now)
	if e.Saves != nil && r.Before.Disk > 0 && r.With.Calls > 0 { // of each call
		saved := 1 - r.With.Disk/r.With.Calls/(r.Before.Disk/r.Before.Calls)
		e.Outcome.Saved = &saved
	}
	return e, nil
}
