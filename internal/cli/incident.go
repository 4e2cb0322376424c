package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/incident/present"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/show"
	"iocause/internal/store/incidents"
)

func newIncidentCommand(e *env) *cobra.Command {
	var dir, format, section string
	var brief bool
	c := &cobra.Command{
		Use:   "incident N|FILE [flags]",
		Short: "Show one incident with its finding and evidence",
		Args:  oneIncident,
		RunE: func(c *cobra.Command, args []string) error {
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
			if err := show.Incident(e.stdout, x, e.host.Now().Location(), console.Style(e.stdout, os.Getenv, console.WidestText)); err != nil || args[0] == "-" || brief {
				return err
			}
			return writeViews(e, x, recordingOf(dir, args[0]))
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's folder")
	f.StringVar(&section, "section", "", "write this piece of evidence as it is")
	f.BoolVar(&brief, "brief", false, "leave out what the evidence shows")
	f.Var(ask.Formats(&format, "json"), "format", "text or json")
	return c
}

func oneIncident(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &ask.Error{Err: fmt.Errorf("reading the arguments: %s takes one incident, but has %d", c.Name(), len(args)), Next: "give a number that 'iocause incidents' lists, or a file"}
	}
	return nil
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
	if _, terminal := console.Width(out); terminal {
		return &ask.Error{Err: fmt.Errorf("writing the section %q: it may hold escape sequences, which a terminal would execute", name), Next: "send it to a file or a program"}
	}
	if _, err := out.Write(x.Sections[at].Data); err != nil {
		return fmt.Errorf("writing the section: %w", err)
	}
	return nil
}
