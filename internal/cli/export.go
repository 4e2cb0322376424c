package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
)

func newExportCommand(e *env) *cobra.Command {
	var dir, to string
	c := &cobra.Command{
		Use:   "export N -o FILE.iocause",
		Short: "Write one incident to a file, to send it to somebody",
		Args:  arguments(1, "give a number that 'iocause incidents' lists, or a file", "the incident"),
		RunE: func(_ *cobra.Command, args []string) error {
			if to == "" {
				return &ask.Error{Err: errors.New("reading --output: no file is given"), Next: "give one, or - for standard output"}
			}
			x, err := replay.LoadIncident(dir, args[0], e.stdin)
			if err != nil {
				return err
			}
			for _, l := range x.Lost { // it is lost for whoever gets the file, too
				fmt.Fprintln(e.stderr, "iocause: "+text.Escape(l))
				x.Meta.Notes = append(x.Meta.Notes, l)
			}
			if to == "-" {
				if _, terminal := console.Width(e.stdout); terminal {
					return &ask.Error{Err: errors.New("writing the incident: it may hold escape sequences, which a terminal would execute"), Next: "give a file with -o, or send it to a program"}
				}
				return incidents.Write(e.stdout, x)
			}
			if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("writing %s: it exists already, or cannot be examined; give another name", to)
			}
			if err := incidents.SaveFile(to, x); err != nil {
				return fmt.Errorf("writing %s: %w", to, err)
			}
			fmt.Fprintf(e.stderr, "iocause: wrote %s; it holds names of processes, files and cgroups\n", text.Escape(to))
			return nil
		},
	}
	f := c.Flags()
	f.StringVarP(&to, "output", "o", "", "file to write; - is stdout")
	f.StringVar(&dir, "dir", stateDir, "the agent's directory")
	return c
}
