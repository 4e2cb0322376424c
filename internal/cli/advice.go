package cli

import (
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/show"
	"iocause/internal/store/advice"
)

func newAdviceCommand(e *env) *cobra.Command {
	var dir, format string
	var since time.Duration
	var top int
	c := &cobra.Command{
		Use:   "advice [flags]",
		Short: "List past advice with its predicted and its real gain",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := advice.Load(dir)
			if err != nil {
				return &ask.Error{Err: err, Next: "the agent keeps it once it has judged an incident, 'iocause lab verify' too: give its folder with --dir"}
			}
			from := time.Time{}
			if c.Flags().Changed("since") {
				from = e.host.Now().Add(-since)
			}
			all := show.AdviceSince(l, from)
			if format == "json" {
				return writeJSON(e.stdout, map[string]any{"version": 1, "advice": all})
			}
			t := show.AdviceTable(all, e.host.Now().Location())
			t.Top(top)
			return writeTable(e.stdout, t)
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's directory")
	f.Var(ask.TimeIn(&since, 0), "since", "only advice of the last 24h, or any other time")
	f.Var(ask.RowsIn(&top, 20), "top", "rows; 0: all")
	f.Var(ask.Formats(&format, "json"), "format", "text or json")
	return c
}
