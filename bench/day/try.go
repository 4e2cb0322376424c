package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/summaries"
)

// day is one run.
type day struct {
	learn, quiet, plant time.Duration
	only, bin, dir      string
	keep                bool
	group               *group
	database            *postgres
	history             []sample.Hour
	out                 io.Writer
}

// agent starts the agent with a folder of its own.
func (d *day) agent(name string) (*process, string, error) {
	dir := filepath.Join(d.dir, name)
	p, err := start("iocause agent", nil, nil, d.bin, "agent", "--dir", dir, "--listen", "none")
	return p, dir, err
}

// learnLoad lets an agent learn, and makes two weeks of what it learned.
func (d *day) learnLoad(ctx context.Context) error {
	p, dir, err := d.agent("learn")
	if err != nil {
		return err
	}
	err = wait(ctx, d.learn)
	if err = errors.Join(err, p.alive(), p.stop()); err != nil {
		return err
	}
	most := map[string]sample.Hour{}
	lost, err := summaries.Read(filepath.Join(dir, "baselines"), func(h sample.Hour) {
		if h.N > most[h.Signal].N {
			most[h.Signal] = h
		}
	})
	if err != nil || len(lost) > 0 || len(most) == 0 {
		return fmt.Errorf("learning: %d signals, lost %q: %w", len(most), lost, errors.Join(err, errors.New(tail(p.notes.String()))))
	}
	now := time.Now().Truncate(time.Hour)
	const perHour = 360
	for _, h := range most {
		for n := 1; n <= 14*24; n++ {
			h.Start, h.N = now.Add(-time.Duration(n)*time.Hour), perHour
			d.history = append(d.history, h)
		}
	}
	return nil
}

// result is what became of a planted cause.
type result struct {
	cause    *cause
	blamed   string     // who is to be named
	early    int        // incidents before it was planted
	pace     [2]float64 // transactions a second before and after it was planted
	opened   bool
	after    time.Duration
	off      []string
	primary  string
	also     []string
	culprit  string   // name and cgroup
	evidence []string // that is there and can be shown
	lacks    []string // and what is not, and why
}

// try plants a cause and watches what the agent makes of it.
func (d *day) try(ctx context.Context, c *cause) (*result, error) {
	dir := filepath.Join(d.dir, c.id)
	if err := os.MkdirAll(filepath.Join(dir, "baselines"), 0o700); err != nil {
		return nil, err
	}
	if err := summaries.Append(filepath.Join(dir, "baselines"), d.history); err != nil {
		return nil, err
	}
	p, _, err := d.agent(c.id)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	d.say("%v of quiet, then %s: %s", d.quiet, c.id, c.what)
	var at [3]pace
	if at[0], err = d.database.pace(ctx); err != nil {
		return nil, err
	}
	if err := wait(ctx, d.quiet); err != nil {
		return nil, err
	}
	if n, err := d.count(ctx, dir); err != nil || n > 0 {
		return &result{cause: c, early: n}, err
	}
	if at[1], err = d.database.pace(ctx); err != nil {
		return nil, err
	}
	undo, err := c.plant(d)
	if err != nil {
		return nil, err
	}
	planted := time.Now()
	r, err := d.follow(ctx, c, dir, planted)
	if err == nil {
		at[2], err = d.database.pace(ctx)
	}
	if err = errors.Join(err, undo(), p.alive()); err != nil {
		return nil, err
	}
	r.pace = [2]float64{at[0].until(at[1]), at[1].until(at[2])}
	return r, nil
}

type incidentList struct {
	Incidents []struct {
		Number int
		Cause  string
		File   string
		Opened time.Time
		What   sample.Incident
	}
}

func (d *day) list(ctx context.Context, dir string) (l incidentList, err error) {
	if _, err := os.Stat(filepath.Join(dir, "incidents")); err != nil {
		return l, nil // none was kept yet
	}
	return l, d.ask(ctx, &l, "incidents", "--dir", dir, "--format", "json")
}

func (d *day) count(ctx context.Context, dir string) (int, error) {
	l, err := d.list(ctx, dir)
	return len(l.Incidents), err
}

// ask runs iocause and reads the JSON that it prints.
func (d *day) ask(ctx context.Context, to any, args ...string) error {
	c := exec.CommandContext(ctx, d.bin, args...)
	var notes strings.Builder
	c.Stderr = &notes
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, to)
	}
	if err != nil {
		return fmt.Errorf("iocause %s: %w: %s", args[0], err, tail(notes.String()))
	}
	return nil
}

// follow waits for an incident and its verdict, and looks at both.
func (d *day) follow(ctx context.Context, c *cause, dir string, planted time.Time) (*result, error) {
	r := &result{cause: c, blamed: c.culprit(d)}
	for time.Since(planted) < d.plant {
		if err := wait(ctx, 5*time.Second); err != nil {
			return nil, err
		}
		l, err := d.list(ctx, dir)
		if err != nil || len(l.Incidents) == 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		i := l.Incidents[0]
		if !r.opened {
			r.opened, r.after = true, i.What.Opened.Sub(planted)
			for _, x := range i.What.Reasons {
				r.off = append(r.off, fmt.Sprintf("%s %.2g (%.2g)", x.Signal, x.Value, x.Normal))
			}
			for _, x := range i.What.Limits {
				r.off = append(r.off, x.Kind)
			}
			d.say("an incident began after %v", r.after.Round(time.Second))
		}
		if i.Cause != "" {
			return r, d.look(ctx, r, i.File)
		}
	}
	return r, nil
}

// look reads the verdict, and has every command show its evidence.
func (d *day) look(ctx context.Context, r *result, file string) error {
	var x struct {
		Notes   []string
		Finding struct {
			Primary  string
			Findings []struct {
				Cause   string
				Culprit struct{ Comm, Cgroup string }
			}
		}
	}
	if err := d.ask(ctx, &x, "incident", file, "--format", "json"); err != nil {
		return err
	}
	r.primary = x.Finding.Primary
	for _, f := range x.Finding.Findings {
		if f.Cause == r.cause.id {
			r.culprit = f.Culprit.Comm + " " + f.Culprit.Cgroup
		}
		if f.Cause != r.primary {
			r.also = append(r.also, f.Cause)
		}
	}
	r.lacks = x.Notes
	for command, table := range map[string]string{"threads": "threads", "offcpu": "stacks", "latency": "calls", "oncpu": "stacks", "trace": "processes", "resident": "files", "mem": "memory", "disk": "devices", "files": "files"} {
		var out map[string]json.RawMessage
		args := []string{command, "--recording", file, "--format", "json", "--top", "0"}
		if command == "trace" {
			args = append(args, "--summary")
		}
		err := d.ask(ctx, &out, args...)
		var rows struct{ Rows []json.RawMessage }
		if err == nil && len(out[table]) > 0 {
			err = json.Unmarshal(out[table], &rows)
		}
		if err != nil || len(rows.Rows) == 0 {
			r.lacks = append(r.lacks, fmt.Sprintf("%s shows nothing (%v)", command, err))
			continue
		}
		r.evidence = append(r.evidence, command)
	}
	slices.Sort(r.evidence)
	return nil
}

// unfelt is the share of its transactions with which the database does not feel
// what was planted.
const unfelt = 0.8

// missed says what is wrong with a result, "" when nothing is.
func (r *result) missed() string {
	felt := fmt.Sprintf("%.0f transactions a second before it, %.0f with it", r.pace[0], r.pace[1])
	switch {
	case r.early > 0:
		return fmt.Sprintf("%d incidents before it was planted: is the machine quiet otherwise?", r.early)
	case !r.opened && r.pace[1] > unfelt*r.pace[0]:
		return "no incident, and hardly felt: " + felt
	case !r.opened:
		return "no incident: " + felt
	case r.primary == "":
		return "an incident, but no verdict"
	case r.primary != r.cause.id && !(slices.Contains(r.also, r.cause.id) && slices.Contains(r.cause.also, r.primary)):
		return "the cause is said to be " + r.primary
	case !strings.Contains(r.culprit, r.blamed):
		return "the culprit is said to be " + r.culprit
	case len(r.lacks) > 0:
		return "evidence is missing: " + strings.Join(r.lacks, ", ")
	}
	return ""
}

func (r *result) row() string {
	after := "-"
	if r.opened {
		after = r.after.Round(time.Second).String()
	}
	evidence := strings.Join(r.evidence, " ")
	if len(r.lacks) > 0 {
		evidence += "; lacks " + strings.Join(r.lacks, ", ")
	}
	return fmt.Sprintf("| %s | %.0f | %.0f | %s | %s | %s | %s | %s | %s |", r.cause.id, r.pace[0], r.pace[1], after, strings.Join(r.off, ", "), r.primary, strings.Join(r.also, ", "), r.culprit, evidence)
}
