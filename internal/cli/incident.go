package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/incident/present"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
)

func newIncidentCommand(e *env) *cobra.Command {
	var dir, format, section string
	var brief bool
	c := &cobra.Command{
		Use:     "incident N|FILE [flags]",
		Short:   "Show one incident with its finding and evidence",
		Long:    helpOf("incident"),
		Example: examplesOf("incident"),
		Args:    oneIncident,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			x, err := replay.LoadIncident(dir, args[0], e.stdin)
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
				return writeIncidentJSON(e, x, recordingOf(dir, args[0]))
			}
			if err := writeIncident(e, x); err != nil || args[0] == "-" || brief {
				return err
			}
			return writeViews(e, x, recordingOf(dir, args[0]))
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

// writeIncident shows an incident to people.
func writeIncident(e *env, x *incidents.Incident) error {
	style := styleOf(e.stdout, os.Getenv, widestText)
	loc := e.host.Now().Location()
	for _, line := range present.Head(&x.Meta, loc) {
		for i, part := range text.Wrap(text.Escape(line), style.Width-2) {
			if i > 0 {
				part = "  " + part
			}
			fmt.Fprintln(e.stdout, part)
		}
	}
	if t := present.Reasons(&x.Meta); t != nil {
		fmt.Fprintln(e.stdout)
		if err := text.WriteTable(e.stdout, t, style); err != nil {
			return err
		}
	}
	if err := writeFinding(e.stdout, x, style); err != nil {
		return err
	}
	for _, t := range present.Evidence(x, loc) {
		fmt.Fprintln(e.stdout)
		if err := text.WriteTable(e.stdout, t, style); err != nil {
			return err
		}
	}
	return nil
}

// writeFinding writes the report that is kept.
func writeFinding(out io.Writer, x *incidents.Incident, style text.Style) error {
	fmt.Fprintln(out)
	if x.Finding == nil {
		_, err := fmt.Fprintf(out, "%s.\n", replay.NotJudged(&x.Meta))
		return err
	}
	var r diagnose.Report
	if err := json.Unmarshal(x.Finding, &r); err != nil {
		_, err := fmt.Fprintf(out, "The finding cannot be read: %s.\n", text.Escape(err.Error()))
		return err
	}
	style.Whole = true
	return text.Write(out, &r, style)
}

// recordingOf is what --recording takes for an incident that was named.
func recordingOf(dir, which string) string {
	if dir != stateDir {
		return replay.Numbered(dir, which)
	}
	return which
}

// writeIncidentJSON writes an incident for programs, with what the commands show of
// evidence that is not JSON.
func writeIncidentJSON(e *env, x *incidents.Incident, which string) error {
	d := present.DocumentOf(x)
	if which != "-" {
		var err error
		if d.Shown, err = viewsAsJSON(e, x, which); err != nil {
			d.Lost = append(d.Lost, "the evidence cannot be shown: "+err.Error())
		}
	}
	return writeJSON(e.stdout, d)
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
