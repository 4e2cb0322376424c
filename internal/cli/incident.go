package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/store/incidents"
)

func newIncidentCommand(e *env) *cobra.Command {
	var dir, format, section string
	var brief bool
	c := &cobra.Command{
		Use:   "incident N|FILE [flags]",
		Short: "Show one incident with its finding and evidence",
		Long: "Incident shows which signals were abnormal and what is normal at such a time,\n" +
			"the finding as 'iocause diagnose' prints it, the series around it, and the\n" +
			"evidence in the tables of the live commands; these take an incident with\n" +
			"--recording, too.\n" +
			"FILE is what 'iocause export' wrote, on whatever machine; - is standard input,\n" +
			"of which the evidence is only listed. A file that was cut off or damaged is\n" +
			"shown as far as it goes.",
		Example: `  iocause incident 17
  iocause threads --recording 17
  iocause incident 17 --format json
  iocause incident 17 --section trace > slow.trace
  iocause incident db1.iocause`,
		Args: oneIncident,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			x, err := loadIncident(e.stdin, dir, args[0])
			if err != nil {
				return err
			}
			for _, l := range x.Lost {
				fmt.Fprintln(e.stderr, "iocause: "+text.Escape(l))
			}
			switch {
			case c.Flags().Changed("section"):
				return printSection(e.stdout, x, section)
			case format == "json":
				return writeIncidentJSON(e, x, whichOf(dir, args[0]))
			}
			if err := writeIncident(e, x); err != nil || args[0] == "-" || brief {
				return err
			}
			return writeViews(e, x, whichOf(dir, args[0]))
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's folder")
	f.StringVar(&section, "section", "", "write this piece of evidence as it is")
	f.BoolVar(&brief, "brief", false, "leave out what the evidence shows")
	f.StringVar(&format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

func oneIncident(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Errorf("reading the arguments: %s takes one incident, but has %d", c.Name(), len(args)),
			"give a number that 'iocause incidents' lists, or a file"}
	}
	return nil
}

// loadIncident reads an incident of the folder by its number, or a file. A
// file whose name is a number is written ./17.
func loadIncident(in io.Reader, dir, which string) (*incidents.Incident, error) {
	if n, err := strconv.Atoi(which); err == nil {
		x, err := incidents.Load(filepath.Join(dir, incidentsIn), n)
		if errors.Is(err, incidents.ErrNone) {
			return nil, fmt.Errorf("%w; see 'iocause incidents'", err)
		}
		return x, err
	}
	if which == "-" {
		return incidents.Read(in)
	}
	f, err := os.Open(which)
	if err != nil {
		return nil, fmt.Errorf("reading the incident: %w", err)
	}
	defer f.Close()
	return incidents.Read(f)
}

// whichOf is what --recording takes for an incident that was named.
func whichOf(dir, which string) string {
	if n, err := strconv.Atoi(which); err == nil && dir != stateDir {
		return incidents.Path(filepath.Join(dir, incidentsIn), n)
	}
	return which
}

// writeIncidentJSON writes an incident for programs, with what the commands show of
// evidence that is not JSON.
func writeIncidentJSON(e *env, x *incidents.Incident, which string) error {
	d := documentOf(x)
	if which != "-" {
		var err error
		if d.Shown, err = viewsAsJSON(e, x, which); err != nil {
			d.Lost = append(d.Lost, "the evidence cannot be shown: "+err.Error())
		}
	}
	return writeJSON(e.stdout, d)
}

// sectionJSON is a piece of evidence: JSON as it is, else only how much.
type sectionJSON struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Bytes int             `json:"bytes"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// incidentDocument is an incident for programs.
type incidentDocument struct {
	Version int `json:"version"`
	incidents.Meta
	Finding  json.RawMessage    `json:"finding"` // null while not judged
	Series   []incidents.Series `json:"series"`
	Sections []sectionJSON      `json:"sections"`
	Lost     []string           `json:"lost"`
	// Shown is what commands show of evidence that is not JSON, by command.
	Shown map[string]json.RawMessage `json:"shown,omitempty"`
}

func documentOf(x *incidents.Incident) incidentDocument {
	d := incidentDocument{Version: 1, Meta: x.Meta, Finding: x.Finding, Series: notNil(x.Series), Sections: []sectionJSON{}, Lost: notNil(x.Lost)}
	for _, s := range x.Sections {
		one := sectionJSON{Name: s.Name, Type: s.Type, Bytes: len(s.Data)}
		if s.Type == incident.TypeJSON && json.Valid(s.Data) {
			one.Data = s.Data
		}
		d.Sections = append(d.Sections, one)
	}
	return d
}

// printSection writes a piece of evidence as it is. It may hold anything, so
// that a terminal does not get it.
func printSection(out io.Writer, x *incidents.Incident, name string) error {
	at := sectionAt(x, name)
	if at < 0 {
		var names []string
		for _, s := range x.Sections {
			names = append(names, s.Name)
		}
		return fmt.Errorf("looking for the section %q: it is not there; there are %q", name, names)
	}
	if _, terminal := terminalWidth(out); terminal {
		return &usageError{fmt.Errorf("writing the section %q: it may hold what a terminal obeys", name), "send it to a file or a program"}
	}
	if _, err := out.Write(x.Sections[at].Data); err != nil {
		return fmt.Errorf("writing the section: %w", err)
	}
	return nil
}
