package cli

import (
	"github.com/spf13/cobra"

	"iocause/internal/lab"
)

// newLabDiskCommand serves a slow disk for the lab, which starts it by itself
// with the connection as file descriptor 3; newLabNFSCommand a file through NFS,
// with its socket.
func newLabDiskCommand(e *env) *cobra.Command {
	return newServerCommand("disk", func(f *lab.ServedFile) error { return lab.ServeDisk(3, f, e.stdin, e.stdout) })
}

func newLabNFSCommand(e *env) *cobra.Command {
	return newServerCommand("nfs", func(f *lab.ServedFile) error { return lab.ServeNFS(3, f, e.stdin, e.stdout) })
}

func newServerCommand(name string, serve func(*lab.ServedFile) error) *cobra.Command {
	var file lab.ServedFile
	c := &cobra.Command{
		Use: name, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return serve(&file) },
	}
	c.Flags().Int64Var(&file.Size, "size", 0, "bytes of the disk")
	c.Flags().IntVar(&file.Heads, "heads", 1, "requests that it works on at a time")
	c.Flags().BoolVar(&file.Keep, "keep", false, "keep what is written, in memory")
	c.Flags().DurationVar(&file.Discard, "discard", 0, "how long a discard takes; 0: it takes none")
	c.Flags().StringVar(&file.Backing, "backing", "", "a file that it reads and writes instead")
	return c
}
