package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/detect"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
)

func newIncidentsCommand(e *env) *cobra.Command {
	var dir, format string
	var top int
	c := &cobra.Command{
		Use:   "incidents [flags]",
		Short: "List the incidents that the agent kept",
		Long: "Incidents lists the anomalies that the agent detected on this host, the newest\n" +
			"first: what was far from normal or at a limit, and the cause that was found.\n" +
			"'iocause incident N' shows one of them with its evidence.",
		Example: `  iocause incidents
  iocause incidents --top 0 --format json
  iocause incidents --dir /mnt/other/var/lib/iocause`,
		Args: noArgs,
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
				return writeIncidentsJSON(e.stdout, list)
			}
			return writeIncidents(e, list, top)
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's folder")
	f.IntVar(&top, "top", 20, "rows, 0 for all")
	f.StringVar(&format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

// incidentJSON is an incident without its evidence.
type incidentJSON struct {
	incidents.Meta
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error,omitempty"` // why it cannot be read
}

func writeIncidentsJSON(out io.Writer, list []incidents.Entry) error {
	all := []incidentJSON{}
	for _, e := range list {
		i := incidentJSON{Meta: e.Meta, File: e.Path, Bytes: e.Bytes}
		i.Number = e.Number
		if e.Err != nil {
			i.Error = e.Err.Error()
		}
		all = append(all, i)
	}
	return writeJSON(out, map[string]any{"version": 1, "incidents": all})
}

func writeIncidents(here *env, list []incidents.Entry, top int) error {
	t := table.Table{Columns: []table.Column{
		{Key: "number", Head: "N"}, {Key: "start", Head: "BEGAN"}, {Key: "seconds", Head: "LASTED"}, {Key: "cause", Head: "CAUSE"},
		{Key: "why", Head: "WHAT WAS OFF", Flex: true, Least: 20},
	}}
	for _, e := range list {
		number := table.Str(fmt.Sprint(e.Number))
		if e.Err != nil {
			t.Rows = append(t.Rows, []table.Cell{number, table.Unread(), table.Unread(), table.Unread(), table.Str(e.Err.Error())})
			continue
		}
		m := &e.Meta
		t.Rows = append(t.Rows, []table.Cell{number, table.Str(m.What.Start.In(here.host.Now().Location()).Format("2006-01-02 15:04")),
			table.Str(lasted(m)), causeCell(m), table.Str(whatWasOff(&m.What))})
	}
	t.Top(top)
	return text.WriteTable(here.stdout, &t, styleOf(here.stdout, os.Getenv, widestTable))
}

func causeCell(m *incidents.Meta) table.Cell {
	if m.Cause == "" {
		return table.None()
	}
	return table.Str(m.Cause)
}

// lasted is how long an incident went on, for people.
func lasted(m *incidents.Meta) string {
	length := table.Duration(m.What.End.Sub(m.What.Start).Round(time.Second).Seconds())
	if m.Open {
		return length + ", open"
	}
	return length
}

// whatWasOff is one line: limits first, then signals.
func whatWasOff(i *sample.Incident) string {
	var all []string
	for _, l := range i.Limits {
		all = append(all, strings.TrimSuffix(l.Kind+": "+l.What, ": "))
	}
	for _, r := range i.Reasons {
		normal := table.Value(r.Normal, r.Unit)
		if r.Basis == string(detect.Learning) {
			normal = "not known"
		}
		all = append(all, fmt.Sprintf("%s %s (normal %s)", r.Signal, table.Value(r.Value, r.Unit), normal))
	}
	return strings.Join(all, ", ")
}
