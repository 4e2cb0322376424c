package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"iocause/internal/lab/prove"
	"iocause/internal/lab/space"
	"iocause/internal/store/advice"
	"iocause/internal/tool/verify"
)

// ErrNoRemedy is a situation of the lab whose advice cannot be held against anything.
var ErrNoRemedy = errors.New("the diagnosis found no cause that the lab has a remedy for in this situation")

// AdvisedIn is what was advised in a situation of the lab, and what its remedy gave.
func AdvisedIn(p *space.Proof, now time.Time) (advice.Entry, error) {
	var r struct {
		Victim   struct{ Comm string }
		Findings []struct {
			Cause  string
			Advice []struct {
				Do, Expect string
				Low        float64 `json:"expect_low"`
				High       float64 `json:"expect_high"`
			}
		}
	}
	if err := json.Unmarshal(p.Report, &r); err != nil {
		return advice.Entry{}, fmt.Errorf("reading the report: %w", err)
	}
	e, tried := prove.Of(p.Effects, p.Verdict.Primary)
	if !tried || len(r.Findings) == 0 || len(r.Findings[0].Advice) == 0 {
		return advice.Entry{}, ErrNoRemedy
	}
	f := &r.Findings[0]
	a := f.Advice[0]
	o := &advice.Outcome{At: now, Result: string(verify.Unchanged), Factor: &e.Factor, Notes: []string{}}
	switch {
	case e.Factor >= verify.Helps:
		o.Result = string(verify.Helped)
	case e.Factor <= 1/verify.Helps:
		o.Result = string(verify.Worse)
	}
	return advice.Entry{Given: now, Situation: p.Situation.Seed, Program: r.Victim.Comm, Cause: f.Cause, Do: a.Do, Expect: a.Expect, Low: a.Low, High: a.High,
		Changes: []advice.Change{{At: now, What: e.Remedy}}, Outcome: o}, nil
}
