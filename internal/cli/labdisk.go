package cli

import (
	"github.com/spf13/cobra"

	"iocause/internal/lab"
)

// newLabDiskCommand serves a slow disk for the lab, which starts it by itself
// with the connection as file descriptor 3.
func newLabDiskCommand(e *env) *cobra.Command {
	var size int64
	var heads int
	var keep bool
	c := &cobra.Command{
		Use: "disk", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return lab.ServeDisk(3, size, heads, keep, e.stdin, e.stdout)
		},
	}
	c.Flags().Int64Var(&size, "size", 0, "bytes of the disk")
	c.Flags().IntVar(&heads, "heads", 1, "requests that it works on at a time")
	c.Flags().BoolVar(&keep, "keep", false, "keep what is written, in memory")
	return c
}
