package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab"
	"iocause/internal/lab/result"
	"iocause/internal/lab/space"
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
	keep   string
	vm     bool
	format string
	drawn  seedOptions
}

func newLabScoreCommand(e *env) *cobra.Command {
	o := &scoreOptions{}
	c := &cobra.Command{
		Use:   "score",
		Short: "Count how often diagnose is right, with known causes",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.keep != "" && (o.vm || o.drawn.seeds != "") {
				return &ask.Error{Err: errors.New("reading --keep: only scenarios on this machine are recorded"), Next: "leave out --vm and --seeds"}
			}
			if o.drawn.seeds != "" {
				return scoreSeeds(c.Context(), e, &o.drawn, o.dir)
			}
			return runLabScore(e, c, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.list, "list", false, "list the scenarios")
	f.StringVar(&o.filter, "filter", "", "only scenarios whose name matches this `regexp`")
	f.Var(ask.NumberIn(&o.repeat, 1, 1, 100), "repeat", "how often to run each")
	f.Float64Var(&o.floor, "floor", 0.97, "required share of right primary causes")
	f.BoolVar(&o.vm, "vm", false, "run those that need a virtual machine")
	f.StringVar(&o.folder, "scenarios", "", "`directory` of other scenarios, NAME/scenario.yaml (default: iocause's own)")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	f.StringVar(&o.keep, "keep", "", "`directory` for a recording of each situation, NAME.iocause; it is judged in place of what is seen live")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	f.StringVar(&o.drawn.seeds, "seeds", "", "draw situations from `FIRST..LAST` in place of the scenarios")
	f.Var(ask.OneOf(&o.drawn.parity, "both", "both", "even", "odd"), "parity", "with --seeds: even, odd or both")
	f.StringVar(&o.drawn.results, "results", "iocause-space.jsonl", "with --seeds: the `file` that results are added to, a line each")
	f.BoolVar(&o.drawn.unplanted, "unplanted", false, "with --seeds: only situations that have no cause by design; remedies are tried where diagnose names one")
	f.BoolVar(&o.drawn.details, "details", false, "with --seeds: keep the proofs of odd seeds too")
	f.Var(ask.TimeIn(&o.drawn.limit, 0), "limit", "with --seeds: begin no further situation after this time")
	return c
}

// scenarios reads those that are asked for.
func (o *scoreOptions) scenarios() ([]*lab.Scenario, error) {
	if !(o.floor >= 0 && o.floor <= 1) {
		return nil, &ask.Error{Err: fmt.Errorf("reading --floor: %g is not a share", o.floor), Next: "give 0 to 1"}
	}
	files, folder := o.files()
	return lab.Choose(files, folder, o.filter, o.vm)
}

// files are where the scenarios are read.
func (o *scoreOptions) files() (fs.FS, string) {
	if o.folder == "" {
		return scenarios.Files, "scenarios"
	}
	return os.DirFS(o.folder), o.folder
}

func runLabScore(e *env, c *cobra.Command, o *scoreOptions) error {
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
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	line := console.NewStep(e.stderr)
	x, show := lab.NewScore(e.host, o.repeat), func(doing string) { line.Show(doing, "") }
	if files, _ := o.files(); o.vm {
		err = x.InGuests(ctx, vm.Scripts, files, chosen, show)
	} else {
		err = x.Here(ctx, e.host, chosen, o.dir, o.keep, show)
	}
	line.Erase()
	if err != nil {
		return err
	}
	x.End()
	if err := writeScore(e.stdout, x, o.format); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("counting: interrupted; what is counted so far is above")
	}
	return x.Reaches(o.floor)
}

func writeScore(out io.Writer, x *lab.Score, format string) error {
	if format == "json" {
		return writeJSON(out, x)
	}
	return writeTables(out, result.ScoreTables(x))
}

// seedOptions are those of lab score --seeds.
type seedOptions struct {
	seeds     string
	parity    string
	results   string
	details   bool
	unplanted bool
	limit     time.Duration
}

// scoreSeeds proves one situation after another, each in a process of its own, and
// keeps what came out. Seeds that are in the results already are not run again.
func scoreSeeds(parent context.Context, e *env, o *seedOptions, dir string) error {
	seeds, err := space.Seeds(o.seeds, o.parity)
	if err != nil {
		return err
	}
	if lacks := lab.LacksAny(e.host, []string{"root", "bpf", "memcg", "blkio", "cpucg", "fuse"}); lacks != "" {
		return fmt.Errorf("setting situations up: %s", lacks)
	}
	ctx, options, stop, err := spaceOptions(parent, e.host, dir)
	if err != nil {
		return err
	}
	defer stop()
	line := console.NewStep(e.stderr)
	series := space.Series{Results: o.results, Scratch: dir, Details: o.details, Limit: o.limit, Unplanted: o.unplanted, Show: func(doing string) { line.Show(doing, "") }}
	done, err := series.Score(ctx, e.host, options.Binary, seeds)
	if err != nil {
		return err
	}
	line.Erase()
	table := space.Markdown
	if o.unplanted {
		table = space.Unplanted
	}
	if _, err := fmt.Fprint(e.stdout, table(done)); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	if ctx.Err() != nil {
		return errors.New("scoring: interrupted; the same command continues from here")
	}
	return nil
}
