package cli

import (
	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/lab/result"
	"iocause/internal/output"
	"iocause/internal/show"
)

func newLabCompareCommand(e *env) *cobra.Command {
	var format, to string
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Set two results of 'lab run' side by side",
		Args:  arguments(2, "give two result directories of 'iocause lab run'", "A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
			if to != "" {
				if err := output.CheckPage(e.stdout, to); err != nil {
					return err
				}
			}
			one, err := result.Read(args[0])
			if err != nil {
				return err
			}
			other, err := result.Read(args[1])
			if err != nil {
				return err
			}
			r, err := result.Compare(one, other)
			if err != nil {
				return err
			}
			if to != "" {
				return output.Report(e.stdout, e.stderr, to, r.Page(one, other, args[0], args[1]))
			}
			if format == "json" {
				return writeJSON(e.stdout, r)
			}
			return show.Comparison(e.stdout, r)
		},
	}
	c.Flags().Var(ask.Formats(&format, "json"), "format", "text or json")
	c.Flags().StringVarP(&to, "output", "o", "", "write a page to this `file`, which ends in .html, instead")
	return c
}
