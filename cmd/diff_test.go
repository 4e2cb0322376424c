package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// The same random reads in the same small cgroup, of a file that its limit
// cannot cache and of one that it can: the comparison names the limit, the hit
// ratio and the size of the data.
func TestDiffNamesTheCacheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector iocause needs more than the limit")
	}
	bpftest.Root(t)
	needProbes(t)
	const limit = 64 << 20 // iocause itself needs a third of it
	// The shell joins the cgroup before it starts the load: a process that moves
	// is known by the cgroup that it was first met in.
	_, small := smallCgroup(t, limit)
	self, err := program()
	if err != nil {
		t.Fatal(err)
	}
	large, fits := bpftest.File(t, 128<<20/4096), bpftest.File(t, 12<<20/4096)
	dir := t.TempDir()
	record := func(name, file, until string) string {
		out := filepath.Join(dir, name)
		script := fmt.Sprintf("echo $$ >%s/cgroup.procs && %s lab load randread --path %s --bs 16k --warm %s && exit 0", small.Memory, self, file, until)
		code, _, notes := run{args: []string{"record", "-o", out, "--interval", "250ms", "--", "sh", "-c", script}}.do(t)
		if code != 0 {
			t.Fatalf("recording %s: code %d, %s", name, code, notes)
		}
		return out
	}
	a, b := record("large.iocause", large, "--duration 2s"), record("fits.iocause", fits, "--duration 2s")
	code, out, notes := runApp(t.Context(), nil, "diff", a, b, "--format", "json", "--all")
	var d difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("code %d, %v, %s", code, err, notes)
	}
	// Where others take the processors, that is what is wrong, on both sides.
	busy := d.Sides[0].Primary == "cpu-saturated"
	if !busy && d.Sides[0].Primary != "cgroup-cache-limit" || d.Sides[1].Primary == "cgroup-cache-limit" {
		t.Errorf("A is %s, B is %s, want cgroup-cache-limit in A alone", d.Sides[0].Primary, d.Sides[1].Primary)
	}
	figures := map[string]figureDiff{}
	for _, f := range d.Figures {
		figures[f.Key] = f
	}
	hits, ok := figures["cache.hit_ratio"]
	if !ok || hits.A == nil || hits.B == nil || *hits.A > 0.6 || *hits.B < 0.8 || !hits.StandsOut {
		t.Errorf("the hit ratio is %+v, want it to stand out:\n%s", hits, out)
	}
	size, ok := figures["data.read_files"]
	if !ok || size.A == nil || size.B == nil || *size.A < 128<<20 || *size.B > 100<<20 {
		t.Errorf("the size of the files read is %+v, want it to stand out", size)
	}
	of, ok := figures["data.of_memory"]
	if !ok || of.A == nil || of.B == nil || *of.A < 2 || *of.B > 1.5 || !of.StandsOut {
		t.Errorf("the size is %+v times the memory, want it to stand out", of)
	}
	same, ok := figures["cgroup.limit"]
	if !ok || same.A == nil || same.B == nil || *same.A != limit || *same.B != limit || same.StandsOut {
		t.Errorf("the limit is %+v, want %d beside the sizes", same, limit)
	}
	limited := busy
	for _, e := range d.Evidence {
		limited = limited || e.Name == "memory limit of the cgroup" && e.A != nil && *e.A == limit
	}
	if !limited {
		t.Errorf("the evidence lacks the limit of %d: %+v", limit, d.Evidence)
	}
	for _, s := range d.Settings {
		// others attach and mount loop devices at any time
		if !strings.HasPrefix(s.Setting, "devices[loop") && !strings.HasPrefix(s.Setting, "file_systems[") {
			t.Errorf("one machine differs from itself in %+v", s)
		}
	}
	code, out, _ = runApp(t.Context(), nil, "diff", a, b)
	for _, want := range []string{string(d.Sides[0].Primary), "page cache hit ratio", "memory limit of the cgroup", "size of the files read", "64 MiB"} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if text.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("a line of %d columns: %q", text.Width(line), line)
		}
	}
	if code != 0 {
		t.Errorf("code %d", code)
	}
	// with itself nothing stands out
	code, out, notes = runApp(t.Context(), nil, "diff", a, a, "--format", "json")
	d = difference{}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Figures) > 0 || d.Sides[0].Primary != d.Sides[1].Primary {
		t.Errorf("with itself: code %d, %v, %s%+v", code, err, notes, d.Figures)
	}
}

func TestDiffSaysWhatItCannot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.iocause")
	entries := []source.Entry{working("calm", sample.WaitIO)}
	if code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--interval", "100ms", "--duration", "1s"); code != 0 {
		t.Fatal(notes)
	}
	folded := filepath.Join(t.TempDir(), "stacks.folded")
	if err := os.WriteFile(folded, []byte("a;b 12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"diff"}, 2, "nothing to compare is named"},
		{[]string{"diff", path}, 2, "give a second recording, or --from-b and --to-b"},
		{[]string{"diff", path, path, path}, 2, "is one too many"},
		{[]string{"diff", path, folded}, 1, "is not a recording of iocause; give two of the same kind"},
		{[]string{"diff", folded, folded}, 1, "is not what 'iocause record' has made, and holds no output of a tool that 'iocause read' knows; stacks are compared by 'iocause flame A B'"},
		{[]string{"diff", path, "/nowhere"}, 1, "open /nowhere"},
		{[]string{"diff", path, "--from-b", "noon"}, 2, `reading --from-b: "noon"`},
		{[]string{"diff", path, path, "--comm", "nobody-is"}, 1, `no process called "nobody-is" was met`},
		{[]string{"diff", path, path, "--format", "csv"}, 2, "use text or json"},
	} {
		code, out, notes := runApp(t.Context(), nil, c.args...)
		if code != c.code || out != "" || !strings.Contains(notes, c.want) {
			t.Errorf("%q: code %d, %q%q, want %d and %q", c.args, code, out, notes, c.code, c.want)
		}
	}
	// two times of one recording
	code, out, notes := runApp(t.Context(), nil, "diff", path, "--to", "+500ms", "--from-b", "+500ms", "--format", "json")
	var d difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Sides[0].Windows < 3 || d.Sides[1].Windows < 3 || !d.Sides[1].Start.After(d.Sides[0].Start) {
		t.Errorf("code %d, %v, %s%+v", code, err, notes, d.Sides)
	}
}
