package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/incident/present"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
)

// kept puts three incidents into a folder: one with everything and hostile
// names, one of a limit that is open and not judged, one that is no incident.
func kept(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	finding, err := os.ReadFile("../present/text/testdata/cache-busting.json")
	require.NoError(t, err)
	at := wednesday.Add(-time.Hour)
	value := func(v float64) *float64 { return &v }
	first := &incidents.Incident{
		Meta: incidents.Meta{Host: "db\x1b[31m1", Kernel: "6.12.1", Program: "iocause test", Cause: "cache-busting", Title: "x", Notes: []string{"stacks: no\nroom"},
			What: sample.Incident{Start: at, Opened: at.Add(4 * time.Minute), End: at.Add(12 * time.Minute), Samples: 70, Reasons: []sample.Reason{
				{Signal: "cpu.user", Unit: "ratio", Value: 0.1, Normal: 0.5, Low: 0.4, High: 0.6, Z: 6.58, Basis: "hour of week", Days: 8},
				{Signal: "disk.pressure", Unit: "ratio", Value: 0.9, Basis: "learning"}}}},
		Finding: finding,
		Series: []incidents.Series{{Name: "disk.busy", On: "vd\x07a", Unit: "ratio", Source: "/proc/diskstats", Start: at, Step: 10,
			Values: []*float64{value(0), nil, value(0.5), value(1)}}, {Name: "none", Unit: "bytes", Start: at, Step: 1, Values: []*float64{nil}}},
		Sections: []incidents.Section{{Name: "processes", Type: "application/json", Data: []byte(`[{"pid":1}]`)}, {Name: "odd\x1b", Type: "application/octet-stream", Data: []byte("\x00\x1b[2J")}},
	}
	second := &incidents.Incident{Meta: incidents.Meta{Host: "db1", Open: true, What: sample.Incident{Start: at, End: at.Add(time.Second), Lasting: true,
		Limits: []sample.Limit{{Kind: sample.LimitErrors, What: "vda: 3\x1b"}}}}}
	for _, x := range []*incidents.Incident{first, second} {
		require.NoError(t, incidents.Save(filepath.Join(dir, "incidents"), x))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "incidents", "000003.iocause"), []byte("\x1b"), 0o600))
	return dir
}

// plainText checks that an output has nothing that a terminal obeys, and no line
// over 80 columns.
func plainText(t *testing.T, out string) {
	t.Helper()
	for _, line := range strings.Split(out, "\n") {
		if strings.ContainsAny(line, "\x1b\x07\x00\r") || len([]rune(line)) > 80 {
			t.Errorf("%q", line)
		}
	}
}

func TestIncidentsAreListed(t *testing.T) {
	dir := kept(t)
	code, out, stderr := atTime(t, wednesday, "incidents", "--dir", dir)
	if code != 0 || stderr != "" {
		t.Fatalf("code %d %s", code, stderr)
	}
	lines := strings.Split(out, "\n")
	for i, want := range []string{
		"N BEGAN ", "3 ?                ?         ?             reading incident 3…",
		"2 2026-11-04 13:20 1 s, open -             errors: vda: 3\\x1b",
		"1 2026-11-04 13:20 12 min    cache-busting cpu.user 10 % (nor…(normal not known)",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	plainText(t, out)
	code, out, _ = atTime(t, wednesday, "incidents", "--dir", dir, "--format", "json")
	var d struct{ Incidents []present.Listed }
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Incidents) != 3 {
		t.Fatalf("%v %s", err, out)
	}
	if x := d.Incidents; x[0].Number != 3 || x[0].Error == "" || !x[1].Open || x[2].Host != "db\x1b[31m1" || x[2].What.Samples != 70 || x[2].Bytes == 0 {
		t.Errorf("%s", out)
	}
	if _, out, _ = atTime(t, wednesday, "incidents", "--dir", dir, "--top", "1"); !strings.HasSuffix(out, "and 2 more; --top 0 shows all\n") {
		t.Error(out)
	}
}

func TestIncidentIsShown(t *testing.T) {
	dir := kept(t)
	code, out, stderr := atTime(t, wednesday, "incident", "1", "--dir", dir)
	if code != 0 || stderr != "" {
		t.Fatalf("code %d %s", code, stderr)
	}
	for _, want := range []string{
		`Incident 1 on db\x1b[31m1, kernel 6.12.1` + "\nfrom 2026-11-04 13:20:00 +0100 to 2026-11-04 13:32:00 +0100 (12 min)\n",
		`not gathered: stacks: no\nroom` + "\n",
		"cpu.user      10 % 50 %   40 % 60 % 6.6 hour of week, 8 weeks\n", "disk.pressure 90 % -      -    -    -   learning\n",
		"PROBLEM: ", "cache-busting · confidence",
		`disk.busy vd\x07a ▁.▅█ `, "/proc/diskstats", "none ", "processes application/json         11 B\n", `odd\x1b `, "--section NAME",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	plainText(t, out)
	code, out, _ = atTime(t, wednesday, "incident", "2", "--dir", dir)
	for _, want := range []string{"(1 s, open)\n", "new baseline\n", `a limit was reached: errors: vda: 3\x1b` + "\n", "The incident is not diagnosed yet: try again in a minute,"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	if code, _, stderr = atTime(t, wednesday, "incident", "3", "--dir", dir); code != 1 || !strings.Contains(stderr, "not an incident of iocause") {
		t.Errorf("code %d %s", code, stderr)
	}
}

func TestIncidentForPrograms(t *testing.T) {
	dir := kept(t)
	code, out, _ := atTime(t, wednesday, "incident", "1", "--dir", dir, "--format", "json")
	var d present.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("%v %s", err, out)
	}
	var data []map[string]int
	if err := json.Unmarshal(d.Sections[0].Data, &data); err != nil || len(data) != 1 || data[0]["pid"] != 1 || d.Sections[1].Data != nil || d.Sections[1].Bytes != 5 {
		t.Errorf("%v %+v", err, d.Sections)
	}
	if len(d.Series) != 2 || d.Series[0].Values[1] != nil || *d.Series[0].Values[2] != 0.5 || !bytes.Contains(d.Finding, []byte(`"cache-busting"`)) || d.Number != 1 || len(d.Lost) != 0 {
		t.Errorf("%s", out)
	}
	code, out, _ = atTime(t, wednesday, "incident", "1", "--dir", dir, "--section", "odd\x1b")
	if code != 0 || out != "\x00\x1b[2J" {
		t.Errorf("code %d %q", code, out)
	}
	if code, _, stderr := atTime(t, wednesday, "incident", "1", "--dir", dir, "--section", ""); code != 1 || !strings.Contains(stderr, `it has ["processes" "odd\x1b"]`) {
		t.Errorf("code %d %q", code, stderr)
	}
}

// What is exported is the same incident elsewhere; one that was damaged says
// so there, too.
func TestExport(t *testing.T) {
	dir := kept(t)
	file := filepath.Join(t.TempDir(), "one.iocause")
	if code, out, stderr := atTime(t, wednesday, "export", "1", "-o", file, "--dir", dir); code != 0 || out != "" || !strings.Contains(stderr, "wrote "+file) {
		t.Fatalf("code %d %s%s", code, out, stderr)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	_, here, _ := atTime(t, wednesday, "incident", "1", "--dir", dir, "--format", "json")
	code, there, stderr := atTime(t, wednesday, "incident", file, "--format", "json", "--dir", "/no/such/folder")
	if code != 0 || stderr != "" || here != there {
		t.Errorf("code %d %s\n%s\n%s", code, stderr, here, there)
	}
	if code, _, stderr := atTime(t, wednesday, "export", "2", "-o", file, "--dir", dir); code != 1 || !strings.Contains(stderr, "it exists already") {
		t.Errorf("code %d %s", code, stderr)
	}
	code, out, _ := atTime(t, wednesday, "export", "1", "-o", "-", "--dir", dir)
	whole, err := os.ReadFile(file)
	if err != nil || code != 0 || out != string(whole) {
		t.Errorf("code %d, %v, %d bytes, want %d", code, err, len(out), len(whole))
	}
	name := filepath.Join(dir, "incidents", "000001.iocause")
	require.NoError(t, os.Truncate(name, int64(len(whole)-30)))
	second := filepath.Join(filepath.Dir(file), "second.iocause")
	code, _, stderr = atTime(t, wednesday, "export", "1", "-o", second, "--dir", dir)
	if code != 0 || !strings.Contains(stderr, "1 of its 5 records are missing") {
		t.Errorf("code %d %s", code, stderr)
	}
	code, out, stderr = atTime(t, wednesday, "incident", second)
	if code != 0 || stderr != "" || !strings.Contains(out, "not gathered: 1 of its 5 records are missing\n") || strings.Contains(out, "odd") {
		t.Errorf("code %d %s%s", code, out, stderr)
	}
}

func TestIncidentsThatAreNotThere(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"incidents --dir " + dir, 1, "the agent keeps them: name its directory with --dir"},
		{"incidents --top -1", 2, "give a whole number, 0 or more"},
		{"incidents x", 2, "incidents takes no arguments"},
		{"incidents --format csv", 2, "use text or json"},
		{"incident 5 --dir " + dir, 1, "reading incident 5: there is no such incident in " + dir + "/incidents: there is none at all yet; 'iocause agent' and 'iocause capture' make them"},
		{"incident", 2, "give a number that 'iocause incidents' lists, or a file"},
		{"incident " + dir + "/none", 1, "no such file or directory"},
		{"incident -", 1, "not an incident of iocause"},
		{"incident 5 --format xml", 2, "use text or json"},
		{"export 5 --dir " + dir, 2, "reading --output: no file is given"},
		{"export 1 2 -o x", 2, "is an unexpected argument; give a number that 'iocause incidents' lists"},
	} {
		code, out, stderr := atTime(t, wednesday, strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: code %d %s%s", c.args, code, out, stderr)
		}
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "incidents"), 0o700))
	if code, out, _ := atTime(t, wednesday, "incidents", "--dir", dir); code != 0 || !strings.Contains(out, "(none)") {
		t.Errorf("code %d %s", code, out)
	}
}
