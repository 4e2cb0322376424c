package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"iocause/internal/agent"
	"iocause/internal/incident"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

// shelveTop puts a minute of tables into an agent's folder: a process of a
// hostile name reads 1,000 bytes in each, and its number goes to another one.
func shelveTop(t *testing.T, dir string, from time.Time) []byte {
	t.Helper()
	s := recording.NewShelf(recording.ShelfOptions{Dir: filepath.Join(dir, agent.TablesIn), Keep: time.Hour, MaxBytes: 16 << 20})
	for i := range 6 {
		at := from.Add(time.Duration(i) * 10 * time.Second)
		r := sample.NewRecorder(at)
		r.At(at.Add(10 * time.Second))
		r.PutProcess(7, sample.Process{Comm: hostileFile[:15], Start: time.Duration(1+i/3) * time.Minute, IOCgroup: "/" + hostileFile})
		r.Put(sample.ProcReadBytes, sample.Entity{PID: 7}, 1000, "/proc/PID/io")
		r.Put(sample.ProcBlkioDelay, sample.Entity{PID: 7}, 2, "/proc/PID/stat")
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/" + hostileFile, Device: "vda"}, 1000, "io.stat")
		require.NoError(t, s.Window(&recording.Record{Window: r.Window(at.Add(10 * time.Second))}))
	}
	require.NoError(t, s.Close())
	files, err := os.ReadDir(filepath.Join(dir, agent.TablesIn))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, agent.TablesIn, files[0].Name()))
	require.NoError(t, err)
	return data
}

// The tables of any time can be asked for, and are evidence of an incident,
// here and in a file that is sent to another machine.
func TestTopOfAnyTime(t *testing.T) {
	dir := t.TempDir()
	do := func(args ...string) (string, string) {
		t.Helper()
		code, out, stderr := runApp(t.Context(), source.List(), args...)
		if code != exitWell || strings.ContainsAny(out+stderr, "\x1b\a") || !utf8.ValidString(out+stderr) {
			t.Fatalf("%q: code %d, %q%q", args, code, out, stderr)
		}
		return out, stderr
	}
	if code, _, stderr := runApp(t.Context(), source.List(), "top", "--dir", dir); code != exitFailed || !strings.Contains(stderr, "'iocause agent' keeps tables") {
		t.Errorf("code %d, %s", code, stderr)
	}
	now := time.Now()
	from := now.Add(-2 * time.Minute)
	data := shelveTop(t, dir, from)
	type document struct {
		Processes struct{ Rows []map[string]any }
		Cgroups   struct{ Rows []map[string]any }
	}
	read := func(args ...string) (d document) {
		t.Helper()
		out, _ := do(append(args, "--format", "json")...)
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return d
	}
	all := read("top", "--dir", dir)
	if p := all.Processes.Rows; len(p) != 2 || p[0]["read_bytes"] != 3000.0 || p[0]["start_seconds"] != 60.0 || p[0]["waited_seconds"] != 6.0 || p[1]["start_seconds"] != 120.0 {
		t.Errorf("%v", p)
	}
	if g := all.Cgroups.Rows; len(g) != 1 || g[0]["read_bytes"] != 6000.0 {
		t.Errorf("%v", g)
	}
	part := read("top", "--dir", dir, "--from", from.Add(30*time.Second).Format(time.RFC3339Nano), "--to", from.Add(50*time.Second).Format(time.RFC3339Nano), "--by", "process")
	if p := part.Processes.Rows; len(p) != 1 || p[0]["read_bytes"] != 2000.0 || p[0]["start_seconds"] != 120.0 || part.Cgroups.Rows != nil {
		t.Errorf("%v", part)
	}
	if out, _ := do("top", "--dir", dir, "--by", "cgroup", "--format", "csv"); !strings.Contains(out, ",6000,") {
		t.Error(out)
	}
	if code, _, stderr := runApp(t.Context(), source.List(), "top", "--dir", dir, "--from", "3 days ago", "--to", "2 days ago"); code != exitFailed || !strings.Contains(stderr, "no table was kept from") {
		t.Errorf("code %d, %s", code, stderr)
	}
	for _, args := range [][]string{{"--by", "file"}, {"--from", "sometime"}, {"--to", "now"}, {"--format", "xml"}, {"1"}} {
		if code, _, _ := runApp(t.Context(), source.List(), append([]string{"top", "--dir", dir}, args...)...); code != exitUsage {
			t.Errorf("%q: code %d", args, code)
		}
	}
	x := &incidents.Incident{Sections: []incidents.Section{{Name: agent.SectionTop, Type: incident.TypeRecording, Data: data}},
		Meta: incidents.Meta{What: sample.Incident{Start: from, End: now}}}
	require.NoError(t, incidents.Save(filepath.Join(dir, incidentsIn), x))
	if out, _ := do("incident", "1", "--dir", dir); !strings.Contains(out, "== iocause top --recording") || !strings.Contains(out, "2.93 KiB") {
		t.Error(out)
	}
	file := filepath.Join(t.TempDir(), "sent.iocause")
	do("export", "1", "--dir", dir, "-o", file)
	for _, name := range []string{"1", file} {
		if d := read("top", "--recording", name, "--dir", dir); len(d.Processes.Rows) != 2 {
			t.Errorf("%s: %v", name, d)
		}
	}
	// A damaged part is told, and the rest shown.
	files, err := filepath.Glob(filepath.Join(dir, agent.TablesIn, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data[len(data)/2] ^= 0x55
	require.NoError(t, os.WriteFile(files[0], data, 0o600))
	if out, stderr := do("top", "--dir", dir); !strings.Contains(stderr, "cannot be read") || !strings.Contains(out, "1.95 KiB") {
		t.Error(out, stderr)
	}
}
