package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/lab"
	"iocause/internal/lab/space"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

type proveOptions struct {
	dir    string
	rounds int
	look   time.Duration
	format string
}

func newLabProveCommand(e *env) *cobra.Command {
	o := &proveOptions{}
	c := &cobra.Command{
		Use:   "prove SEED",
		Short: "Find the true cause of a situation by trying every remedy",
		Long: "Prove sets up the situation of a seed (a program, a disk, what is in its way and\n" +
			"who is beside it), lets 'iocause diagnose' look at it, and then applies each\n" +
			"remedy in turn, measures the work that the program gets done, and undoes it.\n" +
			"The true cause is the one whose removal helps most. It says whether the\n" +
			"diagnosis was right, and whether its advice gave what it promised. For a test\n" +
			"machine, as root; half a minute each.",
		Example: `  iocause lab prove 12
  iocause lab prove 12 --rounds 5 --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("reading the arguments: which situation?"), "give the number of one"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runLabProve(e, c, o, args[0]) },
	}
	f := c.Flags()
	f.IntVar(&o.rounds, "rounds", 2, "try all remedies so often")
	f.DurationVar(&o.look, "look", 5*time.Second, "let the diagnosis observe for so long")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

func runLabProve(here *env, c *cobra.Command, o *proveOptions, arg string) error {
	if err := checkFormat(o.format); err != nil {
		return err
	}
	seed, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || o.rounds < 1 || o.rounds > 100 || o.look < time.Second {
		return &usageError{fmt.Errorf("reading the situation: %s, %d rounds, a look of %v", arg, o.rounds, o.look), "give a number, 1 to 100 rounds and a second at least"}
	}
	s := space.Draw(seed)
	if lacks := lab.LacksAny(here.host, []string{"root", "bpf", "memcg", "blkio", "cpucg", "fuse"}); lacks != "" {
		return fmt.Errorf("setting the situation up: %s", lacks)
	}
	if lacks := s.Lacks(); lacks != "" {
		return fmt.Errorf("setting the situation up: %s", lacks)
	}
	ctx, options, stop, err := spaceOptions(c.Context(), here.host, o.dir)
	if err != nil {
		return err
	}
	defer stop()
	options.Plan.Rounds, options.Look = o.rounds, o.look
	line := newStep(here.stderr)
	p, err := space.Run(ctx, here.host, s, options, func(what string) { line.show(what, "") })
	line.Erase()
	if err != nil {
		return fmt.Errorf("proving situation %d: %w", seed, err)
	}
	if o.format == "json" {
		e := json.NewEncoder(here.stdout)
		e.SetIndent("", " ")
		if err := e.Encode(p); err != nil {
			return fmt.Errorf("writing the proof: %w", err)
		}
		return nil
	}
	return writeProof(here.stdout, p)
}

// writeProof writes the effects as a table, then what follows from them.
func writeProof(out io.Writer, p *space.Proof) error {
	if _, err := fmt.Fprintf(out, "situation %d: %s\n\n", p.Situation.Seed, text.Escape(p.Situation.String())); err != nil {
		return fmt.Errorf("writing the proof: %w", err)
	}
	t := &table.Table{Key: "remedies", Whole: true, Columns: []table.Column{
		{Key: "remedy", Head: "REMEDY"}, {Key: "before", Head: "WORK/s"}, {Key: "with", Head: "WITH IT/s"},
		{Key: "factor", Head: "TIMES"}, {Key: "causes", Head: "STANDS FOR", Flex: true},
	}}
	for _, e := range p.Effects {
		factor, what := fmt.Sprintf("%.2f", e.Factor), strings.Join(e.Causes, ", ")
		if e.Failed != "" {
			factor, what = "-", e.Failed
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(e.Remedy), table.Str(fmt.Sprintf("%.4g", middle(e.Before))), table.Str(fmt.Sprintf("%.4g", middle(e.With))), table.Str(factor), table.Str(what)})
	}
	if err := text.WriteTable(out, t, styleOf(out, os.Getenv, widestTable)); err != nil {
		return err
	}
	truth := "nothing helps by a tenth: "
	if !p.Truth.Healthy() {
		truth = fmt.Sprintf("%q helps most, %.3g times: ", p.Truth.Best, p.Truth.Factor)
	}
	v := &p.Verdict
	said := fmt.Sprintf("%s, %.0f %% sure: %s", v.Primary, 100*v.Confidence, map[bool]string{true: "right", false: "WRONG"}[v.Right])
	if v.Culprit != "" {
		said += "; its culprit: " + v.Culprit
	}
	if v.Effect != "" {
		said += fmt.Sprintf("; it promised %.3g to %.3g times and %.3g came: %s", v.Low, v.High, v.Gained, v.Effect)
	}
	_, err := fmt.Fprintf(out, "\nTrue: %s%s\nSaid: %s\n", truth, strings.Join(p.Truth.Causes, " or "), said)
	if err != nil {
		return fmt.Errorf("writing the proof: %w", err)
	}
	return nil
}

func middle(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(1, len(v)))
}
