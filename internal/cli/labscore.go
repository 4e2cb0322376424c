package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/lab"
	"iocause/internal/lab/result"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/scenarios"
	"iocause/test/vm"
)

type scoreOptions struct {
	list   bool
	filter string
	repeat int
	floor  float64
	folder string
	dir    string
	vm     bool
	format string
	drawn  seedOptions
}

func newLabScoreCommand(e *env) *cobra.Command {
	o := &scoreOptions{}
	c := &cobra.Command{
		Use:     "score",
		Short:   "Count how often diagnose is right, on situations whose cause is known",
		Long:    helpOf("lab-score"),
		Example: examplesOf("lab-score"),
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.drawn.seeds != "" {
				return scoreSeeds(c.Context(), e, &o.drawn, o.dir)
			}
			return runLabScore(e, c, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.list, "list", false, "list the scenarios")
	f.StringVar(&o.filter, "filter", "", "only scenarios whose name matches this `regexp`")
	f.IntVar(&o.repeat, "repeat", 1, "run each so often")
	f.Float64Var(&o.floor, "floor", 0.97, "share of right primary causes that is demanded")
	f.BoolVar(&o.vm, "vm", false, "run those that need a virtual machine")
	f.StringVar(&o.folder, "scenarios", "", "`directory` of other scenarios, NAME/scenario.yaml (default: iocause's own)")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.StringVar(&o.drawn.seeds, "seeds", "", "draw situations from `FIRST..LAST` in place of the scenarios")
	f.StringVar(&o.drawn.parity, "parity", "both", "with --seeds: even, odd or both")
	f.StringVar(&o.drawn.results, "results", "iocause-space.jsonl", "with --seeds: the `file` that results are added to, a line each")
	f.BoolVar(&o.drawn.details, "details", false, "with --seeds: keep the proofs of odd seeds too")
	f.DurationVar(&o.drawn.limit, "limit", 0, "with --seeds: begin no other situation after this time")
	f.SortFlags = false
	return c
}

// scenarios reads those that are asked for.
func (o *scoreOptions) scenarios() ([]*lab.Scenario, error) {
	if err := checkFormat(o.format); err != nil {
		return nil, err
	}
	if o.repeat < 1 || o.repeat > 100 || !(o.floor >= 0 && o.floor <= 1) {
		return nil, &usageError{fmt.Errorf("reading the flags: --repeat %d, --floor %g", o.repeat, o.floor), "give 1 to 100 repeats, and a floor from 0 to 1"}
	}
	pattern, err := regexp.Compile(o.filter)
	if err != nil {
		return nil, &usageError{fmt.Errorf("reading --filter: %w", err), "--filter 'cold|swap' is a good start"}
	}
	files, folder := o.files()
	all, err := lab.ReadAll(files, folder)
	if err != nil {
		return nil, &usageError{err, "correct that; docs/lab.md says where the fields are described"}
	}
	var chosen []*lab.Scenario
	for _, s := range all {
		if pattern.MatchString(s.Name) && (s.VM != nil || !o.vm) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, &usageError{errors.New("looking for scenarios: there are none of that name"), "'iocause lab score --list' shows them"}
	}
	return chosen, nil
}

// files are where the scenarios are read.
func (o *scoreOptions) files() (fs.FS, string) {
	if o.folder == "" {
		return scenarios.Files, "scenarios"
	}
	return os.DirFS(o.folder), o.folder
}

func runLabScore(e *env, c *cobra.Command, o *scoreOptions) (err error) {
	chosen, err := o.scenarios()
	if err != nil {
		return err
	}
	if o.list {
		var all []titled
		for _, s := range chosen {
			all = append(all, titled{s.Name, s.Title})
		}
		return listTitled(e.stdout, "scenarios", all)
	}
	// What cannot be read of the host is absent.
	is, _ := e.host.Fingerprint()
	x := lab.Score{Started: time.Now(), Repeat: o.repeat, Kernel: is.Kernel, CPUs: is.CPUs, CPU: is.CPUModel, Memory: is.MemoryBytes}
	runs, interrupted, err := scoreHere(c.Context(), e, o, chosen)
	if err != nil {
		return err
	}
	x.Runs = runs
	x.Seconds = time.Since(x.Started).Seconds()
	x.Tally = lab.NewTally(x.Runs)
	if err := writeScore(e.stdout, &x, o.format); err != nil {
		return err
	}
	if interrupted {
		return errors.New("counting: interrupted; what is counted so far is above")
	}
	ratio, known := x.Tally.Primary.Ratio()
	if !known {
		return errors.New("counting: not one situation came about; the reasons are above")
	}
	if ratio < o.floor {
		return fmt.Errorf("holding the score against the floor: %.1f %% of the primary causes are right, less than %.1f %%", 100*ratio, 100*o.floor)
	}
	return nil
}

// scoreHere runs the scenarios here, or in virtual machines.
func scoreHere(parent context.Context, e *env, o *scoreOptions, chosen []*lab.Scenario) (runs []lab.Scored, interrupted bool, err error) {
	line := console.NewStep(e.stderr)
	defer line.Erase()
	show := func(doing string) { line.Show(doing, "") }
	if o.vm {
		return scoreGuests(parent, o, chosen, show)
	}
	if lacks := lab.Lacks(e.host, "root"); lacks != "" {
		return nil, false, fmt.Errorf("setting situations up: %s; run it with sudo", lacks)
	}
	ctx, runner, stop, err := newLabRunner(parent, e.host, o.dir)
	if err != nil {
		return nil, false, err
	}
	defer stop()
	runs = lab.ScoreAll(ctx, chosen, o.repeat, show, func(s *lab.Scenario) (lab.Scored, string) {
		if lacks := cmp.Or(s.NeedsGuest(), lab.LacksAny(e.host, s.Requires)); lacks != "" {
			return lab.Scored{}, lacks
		}
		out, err := runner.Run(ctx, s)
		return s.Score(out, err), ""
	})
	return runs, ctx.Err() != nil, runner.Close()
}

// scoreGuests runs the scenarios in virtual machines.
func scoreGuests(parent context.Context, o *scoreOptions, chosen []*lab.Scenario, show func(string)) (runs []lab.Scored, interrupted bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, false, fmt.Errorf("finding iocause itself: %w", err)
	}
	files, _ := o.files()
	guests, err := lab.NewGuests(vm.Scripts, self, func(name string) ([]byte, error) {
		return fs.ReadFile(files, path.Join(name, "scenario.yaml"))
	})
	if err != nil {
		return nil, false, err
	}
	ctx, stop := session.UntilInterrupt(parent, nil)
	defer stop()
	runs = lab.ScoreAll(ctx, chosen, o.repeat, show, func(s *lab.Scenario) (lab.Scored, string) {
		run, err := guests.Run(ctx, s)
		if err != nil {
			return s.Score(nil, err), ""
		}
		return run, ""
	})
	return runs, ctx.Err() != nil, guests.Close()
}

func writeScore(out io.Writer, x *lab.Score, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", " ")
		e.SetEscapeHTML(false)
		if err := e.Encode(x); err != nil {
			return fmt.Errorf("writing the score: %w", err)
		}
		return nil
	}
	style := console.Style(out, os.Getenv, console.WidestTable)
	for i, t := range result.ScoreTables(x) {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := text.WriteTable(out, t, style); err != nil {
			return err
		}
	}
	return nil
}
