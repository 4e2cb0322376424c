package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/incident/present"
	"iocause/internal/present/text"
	"iocause/internal/store/incidents"
)

func newIncidentsCommand(e *env) *cobra.Command {
	var dir, format string
	var top int
	c := &cobra.Command{
		Use:     "incidents [flags]",
		Short:   "List the incidents that the agent kept",
		Long:    helpOf("incidents"),
		Example: examplesOf("incidents"),
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if top < 0 {
				return &usageError{fmt.Errorf("reading --top: %d is no number of rows", top), "give 0 for all"}
			}
			list, err := incidents.List(filepath.Join(dir, incidentsIn))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w; the agent keeps them: give its folder with --dir", err)
			}
			if err != nil {
				return err
			}
			if format == "json" {
				return writeJSON(e.stdout, map[string]any{"version": 1, "incidents": present.List(list)})
			}
			t := present.ListTable(list, e.host.Now().Location())
			t.Top(top)
			return text.WriteTable(e.stdout, t, console.Style(e.stdout, os.Getenv, console.WidestTable))
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's folder")
	f.IntVar(&top, "top", 20, "rows, 0 for all")
	f.StringVar(&format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}
