package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"iocause/internal/lab/load"
)

// PhaseResult is one phase of one repeat.
type PhaseResult struct {
	Phase   string                  `json:"phase"`
	Repeat  int                     `json:"repeat"` // from 1
	Loads   map[string]*load.Result `json:"loads"`  // the measured ones
	Primary string                  `json:"primary,omitempty"`
	Report  json.RawMessage         `json:"report,omitempty"`      // of iocause diagnose, the last one
	NotSeen string                  `json:"not_watched,omitempty"` // why there is no report
	Watched []Watched               `json:"watched,omitempty"`     // of a phase that was watched several times
	Started time.Time               `json:"started"`
	Seconds float64                 `json:"seconds"`
	Series  []Series                `json:"-"` // window by window
}

// RunExperiment does all repeats. What was measured before an error is
// returned with it. progress is told what is next.
func (r *Runner) RunExperiment(ctx context.Context, x *Experiment, progress func(repeat int, phase string)) ([]PhaseResult, error) {
	var all []PhaseResult
	for repeat := 1; repeat <= x.Repeat; repeat++ {
		progress(repeat, "set-up")
		if err := r.repeat(ctx, x, func(st *situation, p *Phase) error {
			progress(repeat, p.Name)
			result, err := st.phase(ctx, p, x.Window)
			if result != nil {
				result.Repeat = repeat
				all = append(all, *result)
			}
			if err != nil {
				return fmt.Errorf("phase %s, repeat %d: %w", p.Name, repeat, err)
			}
			return nil
		}); err != nil {
			return all, err
		}
	}
	return all, nil
}

// repeat sets the machine up, does the phases and takes it down.
func (r *Runner) repeat(ctx context.Context, x *Experiment, do func(*situation, *Phase) error) (err error) {
	files, err := r.files(&Scenario{Files: x.Files})
	if err != nil {
		return err
	}
	env, err := New(r.host, filepath.Dir(r.shared.Scratch()))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := env.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("take the experiment down: %w", closeErr))
		}
	}()
	st := &situation{Runner: r, env: env, names: files, cgroups: map[string]*Cgroup{}}
	st.names["scratch"], st.names["device"], st.names["iocause"] = env.Scratch(), r.device, r.Binary
	for i := range x.Setup {
		if err := st.take(ctx, &x.Setup[i]); err != nil {
			return fmt.Errorf("setup step %d: %w", i+1, err)
		}
	}
	for i := range x.Phases {
		for k := range x.Phases[i].Setup {
			if err := st.take(ctx, &x.Phases[i].Setup[k]); err != nil {
				return fmt.Errorf("phase %s, setup step %d: %w", x.Phases[i].Name, k+1, err)
			}
		}
		if err := do(st, &x.Phases[i]); err != nil {
			return err
		}
	}
	return nil
}
