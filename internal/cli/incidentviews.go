package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/agent"
	"iocause/internal/present/text"
	"iocause/internal/store/incidents"
)

// evidenceView is a command that shows a piece of evidence.
type evidenceView struct {
	section string
	make    func(*app) *cobra.Command
	args    []string // beside --recording
	long    bool     // too long to be shown with all others
}

// evidenceViews are what an incident is shown with, in this order.
func evidenceViews() []evidenceView {
	named := func(name string) func(*app) *cobra.Command {
		all := tools()
		at := slices.IndexFunc(all, func(t tool) bool { return t.name == name })
		return func(a *app) *cobra.Command { return a.newTool(&all[at]) }
	}
	return []evidenceView{
		{sectionRecording, named("files"), nil, false},
		{sectionRecording, named("disk"), nil, false},
		{sectionRecording, named("evictions"), nil, false},
		{agent.SectionTop, newTopCommand, nil, false},
		{sectionThreads, newThreadsCommand, []string{"--by", "process"}, false},
		{sectionLatency, newLatencyCommand, []string{"--slow", "0"}, false}, // stacks are long
		{sectionOffCPU, newOffCPUCommand, nil, false},
		{sectionOnCPU, newOnCPUCommand, nil, false},
		{sectionTrace, newTraceCommand, []string{"--summary"}, false},
		{sectionTrace, newBurstCommand, nil, true},
		{sectionResident, newResidentCommand, nil, false},
		{sectionMem, newMemCommand, nil, false},
	}
}

// evidenceRows is how many rows of each table an incident is shown with.
const evidenceRows = "5"

// viewText shows the evidence as the commands do that show it live, the first
// rows of each. which is what --recording takes for this incident.
func (a *app) viewText(x *incidents.Incident, which string) error {
	for _, v := range evidenceViews() {
		if v.long || !slices.ContainsFunc(x.Sections, func(s incidents.Section) bool { return s.Name == v.section }) {
			continue
		}
		args := append([]string{"--recording", which}, v.args...)
		fmt.Fprintf(a.stdout, "\n== iocause %s %s\n\n", v.make(a).Name(), text.Escape(strings.Join(args, " ")))
		if err := a.view(&v, append(args, "--top", evidenceRows)); err != nil {
			fmt.Fprintf(a.stdout, "It cannot be shown: %s.\n", text.Escape(err.Error()))
		}
	}
	return nil
}

func (a *app) view(v *evidenceView, args []string) error {
	c := v.make(a)
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.Execute()
}

// viewJSON is what the commands show of evidence that is not JSON itself, by
// command.
func (a *app) viewJSON(x *incidents.Incident, which string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, v := range evidenceViews() {
		at := slices.IndexFunc(x.Sections, func(s incidents.Section) bool { return s.Name == v.section })
		if at < 0 || x.Sections[at].Type == jsonType {
			continue
		}
		var to bytes.Buffer
		one := *a
		one.stdout = &to
		if err := one.view(&v, append([]string{"--recording", which, "--format", "json"}, v.args...)); err != nil {
			return nil, err
		}
		lines := bytes.Split(bytes.TrimSpace(to.Bytes()), []byte("\n"))
		if last := lines[len(lines)-1]; json.Valid(last) { // bursts come before the tables
			out[v.make(a).Name()] = last
		}
	}
	return out, nil
}
