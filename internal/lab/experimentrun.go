package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"iocause/internal/lab/load"
)

// PhaseResult is one phase of one repeat.
type PhaseResult struct {
	Phase   string                  `json:"phase"`
	Repeat  int                     `json:"repeat"` // from 1
	Loads   map[string]*load.Result `json:"loads"`  // the measured ones
	Primary string                  `json:"primary,omitempty"`
	Report  json.RawMessage         `json:"report,omitempty"`      // of iocause diagnose
	NotSeen string                  `json:"not_watched,omitempty"` // why there is no report
	Seconds float64                 `json:"seconds"`
}

// RunExperiment does all repeats. What was measured before an error is
// returned with it. progress is told what is next.
func (r *Runner) RunExperiment(ctx context.Context, x *Experiment, progress func(repeat int, phase string)) ([]PhaseResult, error) {
	var all []PhaseResult
	for repeat := 1; repeat <= x.Repeat; repeat++ {
		progress(repeat, "set-up")
		if err := r.repeat(ctx, x, func(st *situation, p *Phase) error {
			progress(repeat, p.Name)
			result, err := st.phase(ctx, p)
			if err != nil {
				return fmt.Errorf("phase %s, repeat %d: %w", p.Name, repeat, err)
			}
			result.Repeat = repeat
			all = append(all, *result)
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
	st.names["scratch"], st.names["device"] = env.Scratch(), r.device
	for i := range x.Setup {
		if err := st.take(ctx, &x.Setup[i]); err != nil {
			return fmt.Errorf("setup step %d: %w", i+1, err)
		}
	}
	for i := range x.Phases {
		if err := do(st, &x.Phases[i]); err != nil {
			return err
		}
	}
	return nil
}

// phase starts pressure and loads, lets iocause watch, and ends all of it.
func (st *situation) phase(ctx context.Context, p *Phase) (*PhaseResult, error) {
	for _, name := range p.Drop {
		if err := load.Drop(st.names[name]); err != nil {
			return nil, err
		}
	}
	st.scenario, st.loads = &Scenario{Loads: slices.Concat(p.Pressure, p.Loads)}, map[string]*Process{}
	defer func() {
		for _, l := range st.loads { // those that an error left running
			_ = l.Stop(time.Second) // the environment ends what remains
		}
	}()
	if err := st.startLoads(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	watch := exec.CommandContext(ctx, st.Binary, "diagnose", "--format", "json", "--duration", p.Duration.String(),
		"--pid", strconv.Itoa(st.loads[p.Loads[0].Name].PID)) // the machine may have other worries
	var report, notes bytes.Buffer
	watch.Stdout, watch.Stderr = &report, &notes
	watch.Cancel = func() error { return watch.Process.Signal(os.Interrupt) }
	watch.WaitDelay = 10 * time.Second
	if err := watch.Start(); err != nil {
		return nil, fmt.Errorf("start the diagnosis: %w", err)
	}
	limit := time.After(p.Duration)
	var ended error
	for _, l := range p.Loads {
		select {
		case <-st.loads[l.Name].ended:
			continue
		case <-limit:
		case <-ctx.Done():
			ended = context.Cause(ctx)
		}
		break
	}
	_ = watch.Process.Signal(os.Interrupt) // fails when it has just ended
	out := &PhaseResult{Phase: p.Name, Loads: map[string]*load.Result{}, Seconds: time.Since(start).Seconds()}
	var errs []error
	for _, l := range slices.Backward(st.scenario.Loads) {
		errs = append(errs, st.loads[l.Name].Stop(8*time.Second))
	}
	watched := watch.Wait()
	if err := errors.Join(append(errs, ended)...); err != nil {
		return nil, err
	}
	for _, l := range p.Loads {
		process, result := st.loads[l.Name], &load.Result{}
		if err := json.Unmarshal(process.Stdout.Bytes(), result); err != nil {
			return nil, fmt.Errorf("load %s gave no account (%w): %s", l.Name, process.outcome(), firstLine(process.Stderr.Bytes()))
		}
		out.Loads[l.Name] = result
	}
	var verdict Verdict
	if err := json.Unmarshal(report.Bytes(), &verdict); err != nil {
		out.NotSeen = fmt.Sprintf("%v: %s", watched, firstLine(notes.Bytes()))
		return out, nil
	}
	out.Primary, out.Report = verdict.Primary, bytes.Clone(report.Bytes())
	return out, nil
}
