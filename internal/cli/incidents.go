package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/incident/present"
	"iocause/internal/store/incidents"
)

func newIncidentsCommand(e *env) *cobra.Command {
	var dir, format string
	var top int
	c := &cobra.Command{
		Use:   "incidents [flags]",
		Short: "List the incidents that the agent kept",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := incidents.List(filepath.Join(dir, incidentsIn))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w; the agent keeps them: name its directory with --dir", err)
			}
			if err != nil {
				return err
			}
			if format == "json" {
				return writeJSON(e.stdout, map[string]any{"version": 1, "incidents": present.List(list)})
			}
			t := present.ListTable(list, e.host.Now().Location())
			t.Top(top)
			return writeTable(e.stdout, t)
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's directory")
	f.Var(ask.RowsIn(&top, 20), "top", "rows, 0 for all")
	f.Var(ask.Formats(&format, "json"), "format", "text or json")
	return c
}
