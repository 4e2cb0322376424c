package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/incident"
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
		Args:  arguments(1, "give a number that 'iocause incidents' lists, or a file", "the incident"),
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
	f.StringVar(&dir, "dir", stateDir, "the agent's directory")
	f.StringVar(&section, "section", "", "print this piece of evidence unchanged")
	f.BoolVar(&brief, "brief", false, "leave out the evidence")
	f.Var(ask.Formats(&format, "json"), "format", "text or json")
	return c
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
		return fmt.Errorf("looking for the section %q: the incident does not have it; it has %q", name, names)
	}
	if _, terminal := console.Width(out); terminal {
		return &ask.Error{Err: fmt.Errorf("writing the section %q: it may hold escape sequences, which a terminal would execute", name), Next: "send it to a file or a program"}
	}
	if _, err := out.Write(x.Sections[at].Data); err != nil {
		return fmt.Errorf("writing the section: %w", err)
	}
	return nil
}

// evidenceRows is how many rows of each table an incident is shown with.
const evidenceRows = "5"

// writeViews shows the evidence as the commands do that show it live, the first
// rows of each. which is what --recording takes for this incident.
func writeViews(e *env, x *incidents.Incident, which string) error {
	for _, k := range evidenceKinds(e.host) {
		if sectionAt(x, k.Section) < 0 {
			continue
		}
		for _, v := range k.Views {
			if v.Long {
				continue
			}
			args := append([]string{"--recording", which}, v.Args...)
			fmt.Fprintf(e.stdout, "\n== iocause %s %s\n\n", v.Command, text.Escape(strings.Join(args, " ")))
			if err := runView(e, v.Command, append(args, "--top", evidenceRows)); err != nil {
				fmt.Fprintf(e.stdout, "It cannot be shown: %s.\n", text.Escape(err.Error()))
			}
		}
	}
	return nil
}

// sectionAt is where an incident has a piece of evidence, -1 for nowhere.
func sectionAt(x *incidents.Incident, name string) int {
	return slices.IndexFunc(x.Sections, func(s incidents.Section) bool { return s.Name == name })
}

// runView runs a command.
func runView(e *env, command string, args []string) error {
	c := newRootCommand(e)
	c.SetArgs(append([]string{command}, args...))
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	return c.Execute()
}

// viewsAsJSON is what the commands show of evidence that is not JSON itself, by
// command.
func viewsAsJSON(e *env, x *incidents.Incident, which string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, k := range evidenceKinds(e.host) {
		at := sectionAt(x, k.Section)
		if at < 0 || x.Sections[at].Type == incident.TypeJSON {
			continue
		}
		for _, v := range k.Views {
			var to bytes.Buffer
			one := *e
			one.stdout = &to
			if err := runView(&one, v.Command, append([]string{"--recording", which, "--format", "json"}, v.Args...)); err != nil {
				return nil, err
			}
			lines := bytes.Split(bytes.TrimSpace(to.Bytes()), []byte("\n"))
			if last := lines[len(lines)-1]; json.Valid(last) { // bursts come before the tables
				out[v.Command] = last
			}
		}
	}
	return out, nil
}
