package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/store/advice"
	"iocause/scenarios"
)

func newLabVerifyCommand(e *env) *cobra.Command {
	o := &proveOptions{}
	var dir string
	c := &cobra.Command{
		Use:   "verify SEED|SCENARIO",
		Short: "Compare the predicted gain of advice with the real one",
		Args:  one("SEED or SCENARIO", "give a number, such as 12, or a name of 'iocause lab score --list'"),
		RunE:  func(c *cobra.Command, args []string) error { return runLabVerify(e, c, o, dir, args[0]) },
	}
	o.bind(c)
	c.Flags().StringVar(&dir, "dir", "", "directory to keep the result in, for 'iocause advice' (none: it is only shown)")
	return c
}

func runLabVerify(e *env, c *cobra.Command, o *proveOptions, dir, arg string) error {
	l, err := advice.Begun(dir)
	if err != nil {
		return &ask.Error{Err: err, Next: "give another folder with --dir"}
	}
	entry, err := verified(e, c, o, arg)
	if err != nil {
		return err
	}
	if err := l.Keep(dir, entry); err != nil {
		return err
	}
	one := show.AdviceSince(&advice.Ledger{Entries: l.Entries[len(l.Entries)-1:]}, time.Time{})
	if o.format == "json" {
		return writeJSON(e.stdout, map[string]any{"version": 1, "advice": one})
	}
	return writeTable(e.stdout, show.AdviceTable(one, e.host.Now().Location()))
}

// verified is what was advised in a situation or a scenario, and what that gave.
func verified(e *env, c *cobra.Command, o *proveOptions, arg string) (advice.Entry, error) {
	if _, err := strconv.ParseUint(arg, 10, 64); err != nil {
		ctx, stop := session.UntilInterrupt(c.Context(), nil)
		defer stop()
		return show.AdvisedOn(ctx, e.host, scenarios.Files, arg, o.dir)
	}
	p, err := proveSituation(e, c, o, arg)
	if err != nil {
		return advice.Entry{}, err
	}
	return show.AdvisedIn(p, e.host.Now())
}
