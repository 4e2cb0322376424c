package result

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/table"
)

// Run is an experiment that is to be done. What is 0 stays as the experiment says.
type Run struct {
	Name     string // of the experiment, or its file
	Scale    float64
	Repeat   int
	Duration time.Duration // of the last phase
	Window   time.Duration // of the series
	Out      string        // the directory to make; "" for one by the name and the time, which then stands here
	Scratch  string        // a directory for test files
}

// Do sets up, measures, takes down and writes what came out. An error behind a result
// is why that has not all phases; without a result nothing was written.
func (o *Run) Do(ctx context.Context, h *host.Host, x *lab.Experiment, show func(doing string)) (*Result, error) {
	if lacks := lab.LacksAny(h, x.Requires); lacks != "" {
		return nil, fmt.Errorf("checking what the experiment requires: %s", lacks)
	}
	x.Scale(o.Scale)
	if o.Repeat > 0 {
		x.Repeat = o.Repeat
	}
	if o.Duration > 0 {
		x.Prolong(o.Duration)
	}
	if o.Window > 0 {
		x.Window = o.Window
	}
	got := &Result{Experiment: strings.TrimSuffix(filepath.Base(o.Name), ".yaml"), Title: x.Title, Scale: o.Scale, Started: time.Now(), Changes: []Change{}}
	if o.Out == "" {
		o.Out = got.Experiment + "-" + got.Started.Format("20060102-150405")
	}
	if err := os.Mkdir(o.Out, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for the results: %w; name another one with --out", err)
	}
	runner, err := lab.NewOwnRunner(h, o.Scratch)
	if err != nil {
		return nil, err
	}
	phases, ran := runner.RunExperiment(ctx, x, func(repeat int, phase string) {
		if phase == x.Phases[0].Name && repeat == 1 {
			// Of the machine as it is set up. What cannot be read is absent.
			got.Host, _ = h.Fingerprint()
			lab.OwnNames(h, &got.Host)
		}
		show(fmt.Sprintf("repeat %d of %d: %s", repeat, x.Repeat, phase))
	})
	ran = errors.Join(ran, runner.Close())
	got.Measured(x, phases, ran)
	if err := got.Save(o.Out, x); err != nil {
		return nil, errors.Join(ran, fmt.Errorf("writing the results: %w", err))
	}
	return got, ran
}

// Tables are the summary, the checks and the changes; those with nothing to say are
// left out.
func (r *Result) Tables(x *lab.Experiment) []table.Table {
	all := []table.Table{*r.Summary(x)}
	for _, t := range []*table.Table{ChecksTable(r.Checks), ChangesTable(r.Changes)} {
		if len(t.Rows) > 0 {
			all = append(all, *t)
		}
	}
	return all
}
