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
		Args:  oneSeed,
		RunE:  func(c *cobra.Command, args []string) error { return runLabVerify(e, c, o, dir, args[0]) },
	}
	o.bind(c)
	c.Flags().StringVar(&dir, "dir", "", "directory to keep the result in, for 'iocause advice'\n(none: it is only shown)")
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
