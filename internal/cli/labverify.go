package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/show"
	"iocause/internal/store/advice"
)

func newLabVerifyCommand(e *env) *cobra.Command {
	o := &proveOptions{}
	var dir string
	c := &cobra.Command{
		Use:   "verify SEED",
		Short: "Compare the predicted gain of advice with the real one",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &ask.Error{Err: errors.New("reading the arguments: exactly one SEED is needed"), Next: "give its number"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runLabVerify(e, c, o, dir, args[0]) },
	}
	f := c.Flags()
	f.Var(ask.NumberIn(&o.rounds, 2, 1, 100), "rounds", "how often to try all remedies")
	f.Var(ask.TimeIn(&o.look, 5*time.Second).From(time.Second, "give 1s or more"), "look", "how long the diagnosis watches")
	f.StringVar(&dir, "dir", "", "directory to keep the result in, for 'iocause advice'\n(none: it is only shown)")
	f.StringVar(&o.dir, "scratch", "", "`directory` for test files, with a disk under it (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

func runLabVerify(e *env, c *cobra.Command, o *proveOptions, dir, arg string) error {
	l := &advice.Ledger{}
	if dir != "" {
		kept, err := advice.Load(dir)
		if err != nil && !errors.Is(err, advice.ErrNone) {
			return &ask.Error{Err: err, Next: "give another folder with --dir"}
		}
		if kept != nil {
			l = kept
		}
	}
	p, err := proveSituation(e, c, o, arg)
	if err != nil {
		return err
	}
	entry, err := show.AdvisedIn(p, e.host.Now())
	if err != nil {
		return fmt.Errorf("verifying situation %s: %w ('iocause lab prove %s' says what was found)", arg, err, arg)
	}
	l.Add(entry)
	if dir != "" {
		b, err := l.Bytes()
		if err = errors.Join(err, advice.Save(dir, b)); err != nil {
			return err
		}
	}
	one := show.AdviceSince(&advice.Ledger{Entries: l.Entries[len(l.Entries)-1:]}, time.Time{})
	if o.format == "json" {
		return writeJSON(e.stdout, map[string]any{"version": 1, "advice": one})
	}
	return writeTable(e.stdout, show.AdviceTable(one, e.host.Now().Location()))
}
