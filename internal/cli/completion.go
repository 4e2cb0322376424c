package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newCompletionCommand prints what makes a shell complete command lines; it stands in
// the place of cobra's, which is four commands.
func newCompletionCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print a script for shell completion",
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      cobra.MatchAll(arguments(1, "give bash, zsh or fish", "the shell"), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			root, write := c.Root(), e.stdout
			err := error(nil)
			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(write, true)
			case "zsh":
				err = root.GenZshCompletion(write)
			case "fish":
				err = root.GenFishCompletion(write, true)
			}
			if err != nil {
				return fmt.Errorf("writing the completion: %w", err)
			}
			return nil
		},
	}
}
