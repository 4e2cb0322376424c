package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"iocause/internal/incident"
	"iocause/internal/source"
	"iocause/internal/view"
)

// observation are the commands that share their arguments and flags.
func observation() []string {
	return []string{"use", "cache", "disk", "files", "mounts", "resident", "mem", "evictions", "writeback", "trace", "burst"}
}

// Every observation command takes the same arguments, filters and formats,
// and its help names the filters that it refuses.
func TestObservationCommandsAreAlike(t *testing.T) {
	root := newRootCommand(&env{})
	commands := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		commands[c.Name()] = c
	}
	for _, name := range observation() {
		c := commands[name]
		if c == nil {
			t.Errorf("there is no command %s", name)
			continue
		}
		if !strings.Contains(c.Use, "[INTERVAL [COUNT]]") || !strings.Contains(c.Long, "INTERVAL") {
			t.Errorf("%s: usage %q, and the help does not explain INTERVAL", name, c.Use)
		}
		if c.Example == "" {
			t.Errorf("%s has no examples", name)
		}
		for _, flag := range []string{"pid", "comm", "cgroup", "device", "file", "top", "sort", "format", "timestamps", "recording", "from", "to"} {
			if c.Flags().Lookup(flag) == nil {
				t.Errorf("%s lacks --%s", name, flag)
			}
		}
		if f := c.Flags().ShorthandLookup("t"); f == nil || f.Name != "timestamps" {
			t.Errorf("%s lacks -t", name)
		}
	}
}

// A filter that a command has no answer for is refused, and its help says so.
func TestFiltersWithoutAnAnswerAreRefused(t *testing.T) {
	values := map[string]string{"pid": "1", "comm": "x", "cgroup": "/", "device": "x", "file": "x"}
	refuse := func(name string, all []view.Refusal) {
		root := newRootCommand(&env{})
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			for _, flag := range r.Flags {
				if r.By == "" && !strings.Contains(c.Long, "--"+flag) {
					t.Errorf("the help of %s does not say that --%s is refused", name, flag)
				}
				args := []string{name, "0.1", "1", "--" + flag, values[flag]}
				if r.By != "" {
					args = append(args, "--by", r.By)
				}
				code, out, stderr := runApp(t.Context(), source.List(), args...)
				if want := "reading --" + flag + ": " + r.Why + "; " + r.Instead; code != exitUsage || out != "" || !strings.Contains(stderr, want) {
					t.Errorf("%q: code %d, %q%q, want 2 and %q", args, code, out, stderr, want)
				}
			}
		}
	}
	for _, tool := range view.List() {
		refuse(tool.Name, tool.Refuses)
	}
	refuse("burst", burstRefuses())
}

// Every observation command answers from a recording, or says why it cannot:
// some from the evidence of incidents alone.
func TestRecordingsAreAnsweredOrRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.iocause")
	if code, _, stderr := runApp(t.Context(), nil, "record", "-o", file, "--duration", "200ms"); code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	answers := map[string]bool{}
	for _, tool := range view.List() {
		answers[tool.Name] = true
	}
	for _, name := range append(observation(), "threads", "latency", "offcpu", "oncpu") {
		u := incident.ViewOf(name)
		refused := u.Lacking != ""
		if refused == answers[name] {
			t.Errorf("%s: answers %v, refuses %v", name, answers[name], refused)
		}
		if _, help, _ := runApp(t.Context(), nil, name, "--help"); strings.Contains(help, "replay a file of") == refused {
			t.Errorf("%s: refuses recordings %v, and its help says\n%s", name, refused, help)
		}
		args := []string{name, "--recording", "/nowhere/x.iocause"}
		code, out, stderr := runApp(t.Context(), source.List(), args...)
		if want := "opening the recording: open /nowhere/x.iocause"; code != exitFailed || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q%q, want %q", args, code, out, stderr, want)
		}
		args = []string{name, "--recording", file}
		code, out, stderr = runApp(t.Context(), source.List(), args...)
		if want := "reading --recording: " + u.Lacking + "; " + u.Instead; refused && (code != exitUsage || out != "" || !strings.Contains(stderr, want)) {
			t.Errorf("%q: code %d, %q%q, want %q", args, code, out, stderr, want)
		}
		args = []string{name, "--from", "1h ago", "--dir", t.TempDir()}
		code, out, stderr = runApp(t.Context(), source.List(), args...)
		if want := map[bool]string{true: "there was no incident", false: "there is no history"}[refused]; code != exitFailed || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q%q, want %q", args, code, out, stderr, want)
		}
		args = []string{name, "--to", "1h ago"}
		if code, _, stderr := runApp(t.Context(), source.List(), args...); code != exitUsage || !strings.Contains(stderr, "the start of the time is missing") {
			t.Errorf("%q: code %d, %q", args, code, stderr)
		}
	}
}
