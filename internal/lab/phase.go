package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"iocause/internal/lab/load"
)

const (
	// LeastWindow bounds what looking at the machine costs: a look takes a
	// millisecond or two.
	LeastWindow = 100 * time.Millisecond
	// shortWindow is that of phases up to mostWindows of them.
	shortWindow = 250 * time.Millisecond
	// mostWindows is about how many a longer phase has.
	mostWindows = 600
	// longestLook is how long iocause watches at a time: in a phase of hours
	// the findings come one after the other, each with its time.
	longestLook = time.Minute
)

// windowOf is the window of a phase that lasts so long at most.
func windowOf(asked, duration time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	if duration <= mostWindows*shortWindow {
		return shortWindow
	}
	const whole = time.Second
	return (duration/mostWindows + whole - 1) / whole * whole
}

// Watched is one look of iocause diagnose.
type Watched struct {
	Started time.Time       `json:"started"`
	Primary string          `json:"primary,omitempty"`
	NotSeen string          `json:"not_watched,omitempty"`
	report  json.RawMessage // kept of the last one only
}

// phase starts pressure and loads, lets iocause watch, and ends all of it. What
// an interrupt ends early is returned with the error: it may be hours.
func (st *situation) phase(ctx context.Context, p *Phase, asked time.Duration) (*PhaseResult, error) {
	for _, name := range p.Drop {
		if err := load.Drop(st.names[name]); err != nil {
			return nil, err
		}
	}
	window := windowOf(asked, p.Duration)
	for _, l := range p.Loads {
		l.Do.Window = cmp.Or(l.Do.Window, window)
	}
	st.scenario, st.loads = &Scenario{Loads: slices.Concat(p.Pressure, p.Loads)}, map[string]*Process{}
	defer func() {
		for _, l := range st.loads { // those that an error left running
			_ = l.Stop(time.Second) // the environment ends what remains
		}
	}()
	if err := st.startAll(ctx, st.scenario.Loads); err != nil {
		return nil, err
	}
	_, environment, err := st.env.marked()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	looking, enough := context.WithCancel(ctx)
	defer enough()
	looks := make(chan []Watched, 1)
	pid := st.loads[p.Loads[0].Name].PID // the machine may have other worries
	go func() {
		if p.Unwatched {
			looks <- []Watched{{NotSeen: "the experiment asks for no diagnosis"}}
			return
		}
		looks <- watch(looking, st.Binary, environment, pid, p.Duration)
	}()
	samples := st.newSampler(window, st.scenario.Loads)
	ended := st.wait(ctx, p, samples)
	out := &PhaseResult{Phase: p.Name, Loads: map[string]*load.Result{}, Started: start, Seconds: time.Since(start).Seconds()}
	enough()
	watched := <-looks
	var errs []error
	for _, l := range slices.Backward(st.scenario.Loads) {
		if process := st.loads[l.Name]; process != nil {
			errs = append(errs, process.Stop(8*time.Second))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, ended)
	}
	for _, l := range p.Loads {
		process, result := st.loads[l.Name], &load.Result{}
		if err := json.Unmarshal(process.Stdout.Bytes(), result); err != nil {
			return nil, fmt.Errorf("load %s printed no results (%w): %s", l.Name, process.outcome(), firstLine(process.Stderr.Bytes()))
		}
		if result.Series != nil {
			out.Series = append(out.Series, loadSeries(l.Name, result.Series)...)
			result.Series = nil
		}
		out.Loads[l.Name] = result
	}
	out.Series = append(out.Series, samples.series()...)
	out.take(watched)
	return out, ended
}

// wait returns when all measured loads have ended or the phase is over. It
// keeps the series, and starts what starts late.
func (st *situation) wait(ctx context.Context, p *Phase, samples *sampler) error {
	late := slices.DeleteFunc(slices.Clone(p.Pressure), func(l Load) bool { return l.After == 0 })
	slices.SortStableFunc(late, func(a, b Load) int { return cmp.Compare(a.After, b.After) })
	limit := time.NewTimer(p.Duration)
	defer limit.Stop()
	tick := time.NewTicker(samples.step)
	defer tick.Stop()
	for i := 0; i < len(p.Loads); {
		var next <-chan time.Time
		if len(late) > 0 {
			next = time.After(time.Until(samples.start.Add(late[0].After)))
		}
		select {
		case <-st.loads[p.Loads[i].Name].ended:
			i++
		case now := <-tick.C:
			samples.tick(now)
		case <-next:
			if _, err := st.startLoad(&late[0], false); err != nil {
				return err
			}
			late = late[1:]
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// watch lets iocause look at a process, again and again, until ctx ends.
func watch(ctx context.Context, binary string, environment []string, pid int, longest time.Duration) []Watched {
	var all []Watched
	for ctx.Err() == nil {
		x := Watched{Started: time.Now()}
		c := exec.CommandContext(ctx, binary, "diagnose", "--format", "json",
			"--duration", min(longest, longestLook).String(), "--pid", strconv.Itoa(pid))
		var report, notes bytes.Buffer
		c.Env, c.Stdout, c.Stderr = environment, &report, &notes
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		c.WaitDelay = 10 * time.Second
		err := c.Run()
		var verdict Verdict
		if json.Unmarshal(report.Bytes(), &verdict) != nil {
			x.NotSeen = fmt.Sprintf("%v: %s", err, firstLine(notes.Bytes()))
			return append(all, x) // the next one would fail as well
		}
		x.Primary, x.report = verdict.Primary, report.Bytes()
		all = append(all, x)
		if longest <= longestLook {
			break
		}
	}
	return all
}

// take enters what iocause saw: the last look that gave a report, and all of
// them when there were several.
func (r *PhaseResult) take(looks []Watched) {
	for _, w := range looks {
		if w.report != nil {
			r.Primary, r.Report, r.NotSeen = w.Primary, w.report, ""
		} else if r.Report == nil {
			r.NotSeen = w.NotSeen
		}
	}
	if len(looks) > 1 {
		r.Watched = looks
	}
}
