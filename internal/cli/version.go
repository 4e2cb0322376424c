package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/version"
)

func newVersionCommand(e *env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.Build()
			if format == "json" {
				return writeJSON(e.stdout, v)
			}
			if _, err := fmt.Fprintf(e.stdout, "iocause %s\n", v); err != nil {
				return fmt.Errorf("writing the version: %w", err)
			}
			return nil
		},
	}
	c.Flags().Var(ask.Formats(&format, "json"), "format", "text or json")
	return c
}
