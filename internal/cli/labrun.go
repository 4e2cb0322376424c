package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/experiments"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/present/html"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

type runOptions struct {
	list   bool
	scale  float64
	repeat int
	out    string
	dir    string
	// duration is of the last phase; window of the series. 0: as the experiment says
	duration, window time.Duration
}

// experimentResult is results.json.
type experimentResult struct {
	Experiment string            `json:"experiment"`
	Title      string            `json:"title"`
	Scale      float64           `json:"scale"`
	Started    time.Time         `json:"started"`
	Host       host.Fingerprint  `json:"host"`
	Phases     []lab.PhaseResult `json:"phases"`
	Changes    []phaseChange     `json:"changes"`
	Checks     []lab.Checked     `json:"checks"`
	Ended      string            `json:"ended,omitempty"` // why there is no more
}

func newLabRunCommand(e *env) *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use:   "run NAME|FILE.yaml",
		Short: "Do an experiment: set up, measure, diagnose, clean up",
		Long: "Run does the phases of an experiment, one of iocause's own or a file, with\n" +
			"'iocause diagnose' beside each, prints a summary and makes a directory with all\n" +
			"figures: results.json, series.csv (window by window) and report.html (plots). It\n" +
			"says when a load became faster or slower and what else changed then; with\n" +
			"--duration the last phase goes on for hours. What it sets up (cgroups, loop\n" +
			"devices, files) it takes down again, after kill -9 at its next start. For a test\n" +
			"machine, as root.",
		Example: `  iocause lab run --list
  iocause lab run squeeze
  iocause lab run read-twice --scale 0.0625 --repeat 3 --out before
  iocause lab run tmpfs-write --duration 8h
  iocause lab run mine.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == o.list {
				return &usageError{errors.New("reading the arguments: which experiment?"), "give one NAME or FILE.yaml, or --list"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.list {
				return listExperiments(e.stdout)
			}
			return runLabRun(e, c, o, args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&o.list, "list", false, "list iocause's own experiments")
	f.Float64Var(&o.scale, "scale", 0.125, "multiply every size by this")
	f.IntVar(&o.repeat, "repeat", 0, "do all of it so often (default: as the file says)")
	f.StringVar(&o.out, "out", "", "`directory` to make for results (default: NAME-TIME)")
	f.Var(timeIn(&o.duration, 0), "duration", "let the loads of the last phase go on for so long")
	f.Var(timeIn(&o.window, 0), "window", "of series.csv (default: 250ms, or more for hours)")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it\n(default: $IOCAUSE_LAB_DIR or /var/tmp)")
	f.SortFlags = false
	return c
}

// experiment finds one: a file, or one of ours.
func experiment(name string) (*lab.Experiment, error) {
	content, err := experiments.Files.ReadFile(name + ".yaml")
	if strings.HasSuffix(name, ".yaml") {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the experiment: %w; see 'iocause lab run --list'", err)
	}
	x, err := lab.ParseExperiment(name, content)
	if err != nil {
		return nil, &usageError{err, "correct that; docs/lab.md has the fields"}
	}
	return x, nil
}

func listExperiments(out io.Writer) error {
	files, err := experiments.Files.ReadDir(".")
	if err != nil {
		return fmt.Errorf("listing the experiments: %w", err)
	}
	var all []titled
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".yaml")
		x, err := experiment(name)
		if err != nil {
			return err
		}
		all = append(all, titled{name, x.Title})
	}
	return listTitled(out, "experiments", all)
}

func runLabRun(e *env, c *cobra.Command, o *runOptions, name string) (err error) {
	if !(o.scale > 0 && o.scale <= 1024) || o.repeat < 0 || o.repeat > 100 {
		return &usageError{fmt.Errorf("reading the flags: --scale %g, --repeat %d", o.scale, o.repeat), "give a scale above 0, and 1 to 100 repeats"}
	}
	if o.duration < 0 || o.window != 0 && o.window < lab.LeastWindow {
		return &usageError{fmt.Errorf("reading the flags: --duration %v, --window %v", o.duration, o.window), "give times above zero, and windows of 100ms at least"}
	}
	x, err := experiment(name)
	if err != nil {
		return err
	}
	if lacks := lab.LacksAny(e.host, x.Requires); lacks != "" {
		return fmt.Errorf("looking at what the experiment requires: %s", lacks)
	}
	x.Scale(o.scale)
	if o.repeat > 0 {
		x.Repeat = o.repeat
	}
	if o.duration > 0 {
		x.Prolong(o.duration)
	}
	if o.window > 0 {
		x.Window = o.window
	}
	result := experimentResult{Experiment: strings.TrimSuffix(filepath.Base(name), ".yaml"), Title: x.Title, Scale: o.scale, Started: time.Now(), Changes: []phaseChange{}}
	if o.out == "" {
		o.out = result.Experiment + "-" + result.Started.Format("20060102-150405")
	}
	if err := os.Mkdir(o.out, 0o700); err != nil {
		return fmt.Errorf("making the directory for the results: %w; name another one with --out", err)
	}
	ctx, runner, stop, err := newLabRunner(c.Context(), e.host, o.dir)
	if err != nil {
		return err
	}
	defer stop()
	line := newStep(e.stderr)
	phases, ran := runner.RunExperiment(ctx, x, func(repeat int, phase string) {
		if phase == x.Phases[0].Name && repeat == 1 {
			// Of the machine as it is set up. What cannot be read is absent.
			result.Host, _ = e.host.Fingerprint()
			lab.OwnNames(e.host, &result.Host)
		}
		line.show(fmt.Sprintf("repeat %d of %d: %s", repeat, x.Repeat, phase), "")
	})
	line.Erase()
	ran = errors.Join(ran, runner.Close())
	result.Phases, result.Checks = phases, x.Verify(phases)
	if ran != nil {
		result.Ended = ran.Error()
	}
	for i := range phases {
		result.Changes = append(result.Changes, changesIn(&phases[i])...)
	}
	if err := writeResult(o.out, x, &result); err != nil {
		return errors.Join(ran, fmt.Errorf("writing the results: %w", err))
	}
	style := styleOf(e.stdout, os.Getenv, widestTable)
	if err := text.WriteTable(e.stdout, summary(x, &result), style); err != nil {
		return err
	}
	for _, t := range []*table.Table{checksTable(result.Checks), changesTable(result.Changes)} {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(e.stdout)
		if err := text.WriteTable(e.stdout, t, style); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.stderr, "iocause: results.json, series.csv and report.html are in %s\n", text.Escape(o.out))
	return errors.Join(ran, failedChecks(result.Checks))
}

// writeResult writes the files of a result directory.
func writeResult(dir string, x *lab.Experiment, r *experimentResult) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.json", func(w io.Writer) error { return writeJSON(w, r) }},
		{"series.csv", func(w io.Writer) error { return writeSeries(w, r.Phases) }},
		{"report.html", func(w io.Writer) error { return html.WriteReport(w, runPage(x, r)) }},
	} {
		const private = 0o600 // names of processes and files of this machine are in it
		file, err := os.OpenFile(filepath.Join(dir, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, private)
		if err != nil {
			return err
		}
		if err := errors.Join(f.write(file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// summary is a row for each measured load of each phase: medians over the
// repeats, and the range of the rate.
func summary(x *lab.Experiment, r *experimentResult) *table.Table {
	t := &table.Table{
		Key: "phases", Title: fmt.Sprintf("%s (scale %g)", x.Title, r.Scale), Whole: true,
		Columns: []table.Column{
			{Key: "phase", Head: "PHASE", Flex: true, Least: 12}, {Key: "load", Head: "LOAD", Drop: 3},
			{Key: "calls_per_s", Head: "CALLS/S", Unit: "count/s"}, {Key: "least", Head: "LEAST", Unit: "count/s", Drop: 1}, {Key: "most", Head: "MOST", Unit: "count/s", Drop: 2},
			{Key: "p50_seconds", Head: "P50", Unit: "seconds"}, {Key: "p99_seconds", Head: "P99", Unit: "seconds"},
			{Key: "reference", Head: "REFERENCE", Unit: "count/s", Rare: true}, {Key: "finding", Head: "FINDING"}, {Key: "over_time", Head: "OVER TIME", Drop: 4},
		},
	}
	if x.Repeat <= 1 { // there is no range: the time it took says more
		t.Columns[3].Drop, t.Columns[4].Drop = 5, 6
	}
	by := ""
	for i := range x.Phases {
		p := &x.Phases[i]
		for _, l := range p.Loads {
			var rates, p50, p99 []float64
			var found []string
			for k := range r.Phases {
				if one := &r.Phases[k]; one.Phase == p.Name {
					rates, p50, p99 = append(rates, one.Loads[l.Name].Rate()), append(p50, one.Loads[l.Name].P50), append(p99, one.Loads[l.Name].P99)
					if verdict := one.Primary; verdict == "" {
						found = append(found, map[bool]string{true: "(not watched)", false: "(too short)"}[p.Unwatched])
					} else if !slices.Contains(found, verdict) {
						found = append(found, verdict)
					}
				}
			}
			if len(rates) == 0 {
				continue
			}
			row := []table.Cell{table.Str(p.Name), table.Str(l.Name), table.Num(median(rates)), table.Num(slices.Min(rates)), table.Num(slices.Max(rates)),
				table.Num(median(p50)), table.Num(median(p99)), table.None(), table.Str(strings.Join(slices.Compact(found), ", ")), table.Str(overTime(r, p.Name, l.Name))}
			if p.Before != nil {
				row[7], by = table.Num(p.Before.Rate), p.Before.By
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if by != "" {
		t.Notes = append(t.Notes, "REFERENCE: "+by+", at scale 1; another device, so compare the shape, not the figures")
	}
	return t
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}
