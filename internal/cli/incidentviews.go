package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/store/incidents"
)

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
