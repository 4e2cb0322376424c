//go:build light

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// newMCPCommand says that this build has none: the protocol's library is a
// fourteenth of it.
func newMCPCommand(*env) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Answer AI assistants over the Model Context Protocol (not in this build)",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("answering assistants: the light build of iocause cannot do that; use the full build ('make build', or a release)")
		},
	}
}
