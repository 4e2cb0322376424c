package cli

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab"
	"iocause/internal/lab/space"
	"iocause/internal/show"
)

type proveOptions struct {
	dir    string
	rounds int
	look   time.Duration
	format string
	named  bool
}

func newLabProveCommand(e *env) *cobra.Command {
	o := &proveOptions{}
	c := &cobra.Command{
		Use:   "prove SEED",
		Short: "Find the true cause of a situation by trying every remedy",
		Args:  one("SEED", "give a number, such as 12"),
		RunE:  func(c *cobra.Command, args []string) error { return runLabProve(e, c, o, args[0]) },
	}
	o.bind(c)
	c.Flags().BoolVar(&o.named, "if-named", false, "diagnose up to four times, and try the remedies only if a cause is named")
	return c
}

// bind adds the flags that 'lab verify' has as well.
func (o *proveOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.Var(ask.NumberIn(&o.rounds, 2, 1, 100), "rounds", "how often to try all remedies")
	f.Var(ask.TimeIn(&o.look, 5*time.Second).From(time.Second, "give 1s or more"), "look", "how long the diagnosis watches")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
}

// one asks for exactly one argument.
func one(what, next string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return &ask.Error{Err: fmt.Errorf("reading the arguments: exactly one %s is needed", what), Next: next}
		}
		return nil
	}
}

func runLabProve(here *env, c *cobra.Command, o *proveOptions, arg string) error {
	p, err := proveSituation(here, c, o, arg)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return writeJSON(here.stdout, p)
	}
	return show.Proof(here.stdout, p, console.Style(here.stdout, os.Getenv, console.WidestTable))
}

// proveSituation sets a situation up, has it diagnosed and tries all remedies.
func proveSituation(here *env, c *cobra.Command, o *proveOptions, arg string) (*space.Proof, error) {
	seed, err := strconv.ParseUint(arg, 10, 64)
	if err != nil {
		return nil, &ask.Error{Err: fmt.Errorf("reading the situation: %q is not a number", arg), Next: "give a number, such as 12"}
	}
	s := space.Draw(seed)
	if lacks := lab.LacksAny(here.host, []string{"root", "bpf", "memcg", "blkio", "cpucg", "fuse"}); lacks != "" {
		return nil, fmt.Errorf("setting the situation up: %s", lacks)
	}
	if lacks := s.Lacks(); lacks != "" {
		return nil, fmt.Errorf("setting the situation up: %s", lacks)
	}
	ctx, options, stop, err := spaceOptions(c.Context(), here.host, o.dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	options.Plan.Rounds, options.Look, options.IfNamed = o.rounds, o.look, o.named
	if c.Flags().Changed("rounds") {
		options.Plan.Longest = 0
	}
	line := console.NewStep(here.stderr)
	p, err := space.Run(ctx, here.host, s, options, func(what string) { line.Show(what, "") })
	line.Erase()
	if err != nil {
		return nil, fmt.Errorf("proving situation %d: %w", seed, err)
	}
	return p, nil
}
