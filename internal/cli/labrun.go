package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/experiments"
	"iocause/internal/console"
	"iocause/internal/lab"
	"iocause/internal/lab/result"
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

func newLabRunCommand(e *env) *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use:     "run NAME|FILE.yaml",
		Short:   "Do an experiment: set up, measure, diagnose, clean up",
		Long:    helpOf("lab-run"),
		Example: examplesOf("lab-run"),
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
	got := result.Result{Experiment: strings.TrimSuffix(filepath.Base(name), ".yaml"), Title: x.Title, Scale: o.scale, Started: time.Now(), Changes: []result.Change{}}
	if o.out == "" {
		o.out = got.Experiment + "-" + got.Started.Format("20060102-150405")
	}
	if err := os.Mkdir(o.out, 0o700); err != nil {
		return fmt.Errorf("making the directory for the results: %w; name another one with --out", err)
	}
	ctx, runner, stop, err := newLabRunner(c.Context(), e.host, o.dir)
	if err != nil {
		return err
	}
	defer stop()
	line := console.NewStep(e.stderr)
	phases, ran := runner.RunExperiment(ctx, x, func(repeat int, phase string) {
		if phase == x.Phases[0].Name && repeat == 1 {
			// Of the machine as it is set up. What cannot be read is absent.
			got.Host, _ = e.host.Fingerprint()
			lab.OwnNames(e.host, &got.Host)
		}
		line.Show(fmt.Sprintf("repeat %d of %d: %s", repeat, x.Repeat, phase), "")
	})
	line.Erase()
	ran = errors.Join(ran, runner.Close())
	got.Measured(x, phases, ran)
	if err := got.Save(o.out, x); err != nil {
		return errors.Join(ran, fmt.Errorf("writing the results: %w", err))
	}
	style := console.Style(e.stdout, os.Getenv, console.WidestTable)
	if err := text.WriteTable(e.stdout, got.Summary(x), style); err != nil {
		return err
	}
	for _, t := range []*table.Table{result.ChecksTable(got.Checks), result.ChangesTable(got.Changes)} {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(e.stdout)
		if err := text.WriteTable(e.stdout, t, style); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.stderr, "iocause: results.json, series.csv and report.html are in %s\n", text.Escape(o.out))
	return errors.Join(ran, result.Failed(got.Checks))
}
