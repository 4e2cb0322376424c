package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/experiments"
	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab"
	"iocause/internal/lab/result"
	"iocause/internal/present/text"
	"iocause/internal/session"
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
		Use:   "run NAME|FILE.yaml",
		Short: "Run an experiment: set up, measure, diagnose, clean up",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == o.list {
				return &ask.Error{Err: errors.New("reading the arguments: exactly one experiment is needed"), Next: "give one NAME or FILE.yaml, or --list"}
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
	f.Var(ask.NumberIn(&o.repeat, 0, 0, 100), "repeat", "number of repeats (default: from the file)")
	f.StringVar(&o.out, "out", "", "`directory` to create for results (default: NAME-TIME)")
	f.Var(ask.TimeIn(&o.duration, 0), "duration", "how long the loads of the last phase go on")
	f.Var(ask.TimeIn(&o.window, 0).From(lab.LeastWindow, "give 100ms or more"), "window", "length of a row of series.csv (default: 250ms, or more for hours)")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	return c
}

func listExperiments(out io.Writer) error {
	files, err := experiments.Files.ReadDir(".")
	if err != nil {
		return fmt.Errorf("listing the experiments: %w", err)
	}
	var all []titled
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".yaml")
		x, err := lab.FindExperiment(experiments.Files, name)
		if err != nil {
			return err
		}
		all = append(all, titled{name, x.Title})
	}
	return listTitled(out, "experiments", all)
}

func runLabRun(e *env, c *cobra.Command, o *runOptions, name string) (err error) {
	if !(o.scale > 0 && o.scale <= 1024) {
		return &ask.Error{Err: fmt.Errorf("reading --scale: %g is out of range", o.scale), Next: "give more than 0, and 1024 at most"}
	}
	x, err := lab.FindExperiment(experiments.Files, name)
	if err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	line := console.NewStep(e.stderr)
	run := result.Run{Name: name, Scale: o.scale, Repeat: o.repeat, Duration: o.duration, Window: o.window, Out: o.out, Scratch: o.dir}
	got, ran := run.Do(ctx, e.host, x, func(what string) { line.Show(what, "") })
	line.Erase()
	if got == nil {
		return ran
	}
	if err := writeTables(e.stdout, got.Tables(x)); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "iocause: results.json, series.csv and report.html are in %s\n", text.Escape(run.Out))
	return errors.Join(ran, result.Failed(got.Checks))
}
