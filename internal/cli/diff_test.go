package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
	"iocause/internal/store/series"
	"iocause/internal/tool/diff"
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
	require.NoError(t, err)
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
	var d diff.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("code %d, %v, %s", code, err, notes)
	}
	// Where others take the processors, that is what is wrong, on both sides.
	busy := d.Sides[0].Primary == "cpu-saturated"
	if !busy && d.Sides[0].Primary != "cgroup-cache-limit" || d.Sides[1].Primary == "cgroup-cache-limit" {
		t.Errorf("A is %s, B is %s, want cgroup-cache-limit in A alone", d.Sides[0].Primary, d.Sides[1].Primary)
	}
	figures := map[string]diff.Figure{}
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
	d = diff.Difference{}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Figures) > 0 || d.Sides[0].Primary != d.Sides[1].Primary {
		t.Errorf("with itself: code %d, %v, %s%+v", code, err, notes, d.Figures)
	}
}

// Two hours of an agent, in which the same is read again and again: of a file
// that fits into memory and of one that does not. The comparison names the
// share of hits, as the agent's looks estimate it.
func TestDiffOfAnAgent(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().Truncate(time.Second)
	upload := func(hits float64) func(second float64) map[string]float64 {
		return func(s float64) map[string]float64 {
			cold := (1 - hits) * s
			look := math.Floor(s / 20) // of 200 ms every 20 s
			return map[string]float64{
				"iocause_cache_sampled_time_seconds_total": look * .2, "iocause_cache_sampled_accesses_pages_total": look * 20 * 10_000,
				"iocause_cache_sampled_hits_pages_total": hits * look * 20 * 10_000, "iocause_cache_sampled_misses_pages_total": (1 - hits) * look * 20 * 10_000,
				"iocause_cache_sampled_accessed_bytes_total": look * 20 * 10_000 * 4096, "iocause_disk_read_bytes_total": cold * 10_000 * 4096,
				"iocause_disk_reads_total": cold * 160, "iocause_disk_busy_seconds_total": cold,
			}
		}
	}
	const length = 5 * time.Minute
	keepSeries(t, dir, now.Add(-3*length), length, upload(.99))
	keepSeries(t, dir, now.Add(-length), length, upload(.2))
	at := func(before time.Duration) string { return now.Add(-before).Format(time.RFC3339) }
	args := []string{"diff", "--dir", dir, "--from", at(3 * length), "--to", at(2 * length), "--from-b", at(length), "--to-b", at(0)}
	code, out, notes := runApp(t.Context(), nil, append(args, "--format", "json")...)
	var d diff.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("code %d, %v, %s", code, err, notes)
	}
	figures := map[string]diff.Figure{}
	for _, f := range d.Figures {
		figures[f.Key] = f
	}
	for key, want := range map[string][2]float64{"cache.hit_ratio": {.99, .2}, "disk.vda.read": {.01 * 10_000 * 4096, .8 * 10_000 * 4096}} {
		f := figures[key]
		if f.A == nil || f.B == nil || math.Abs(*f.A-want[0]) > .02*want[0] || math.Abs(*f.B-want[1]) > .02*want[1] || !f.StandsOut {
			t.Errorf("%s is %+v, want %v", key, f, want)
		}
	}
	code, out, _ = runApp(t.Context(), nil, args...)
	if code != 0 || !strings.Contains(out, "page cache hit ratio, estimate") || strings.Count(out, "the settings of the machine are not in") != 1 {
		t.Errorf("code %d: %s", code, out)
	}
	for _, c := range []struct{ from, want string }{{"soon", `reading --from-b: "soon"`}, {"", "give --from-b"}} {
		args[8] = c.from
		if code, _, notes := runApp(t.Context(), nil, args...); code != exitUsage || !strings.Contains(notes, c.want) {
			t.Errorf("code %d, %s", code, notes)
		}
	}
	// The cache of the second time as its command shows it.
	code, out, notes = runApp(t.Context(), nil, "cache", "--dir", dir, "--from", at(length), "--to", at(0), "--format", "json")
	if r := rows(t, out, "estimate"); code != 0 || len(r) != 1 || math.Abs(r[0]["hit_ratio"].(float64)-.2) > .001 ||
		math.Abs(r[0]["read_bytes_per_s"].(float64)/(10_000*4096)-1) > .02 || r[0]["evicted_bytes_per_s"] != nil {
		t.Errorf("code %d: %s%s", code, out, notes)
	}
}

// keepSeries records values as an agent does, of the device vda and of the
// host, one a second.
func keepSeries(t *testing.T, dir string, from time.Time, length time.Duration, values func(second float64) map[string]float64) {
	t.Helper()
	r, err := series.Open(series.Options{Dir: dir, Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}})
	require.NoError(t, err)
	known := map[string]*series.Series{}
	var frames []series.Frame
	for s := range int(length/time.Second) + 1 {
		frame := series.Frame{At: from.Add(time.Duration(s) * time.Second)}
		for name, v := range values(float64(s)) {
			if known[name] == nil {
				var labels []series.Label
				if strings.Contains(name, "_disk_") {
					labels = append(labels, series.Label{Name: "device", Value: "vda"})
				}
				known[name] = series.New(name, labels...)
			}
			frame.Values = append(frame.Values, series.Value{Of: known[name], V: v})
		}
		frames = append(frames, frame)
	}
	a, err := r.Append(frames)
	if err = errors.Join(err, r.Close()); err != nil || a.Refused > 0 {
		t.Fatal(a, err)
	}
}

// An incident is compared with the better times that it was judged against, or
// with another one.
func TestDiffOfIncidents(t *testing.T) {
	dir := t.TempDir()
	part := func(name string, each time.Duration) incidents.Section {
		path := filepath.Join(t.TempDir(), name)
		writeReads(t, path, each, &host.Fingerprint{Kernel: "6.12", Devices: []host.BlockDevice{{Name: "vda", Bytes: 1 << 30}}})
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return incidents.Section{Name: name, Type: incident.TypeRecording, Data: data}
	}
	fast, slow := part(incident.SectionNormal, 200*time.Microsecond), part(incident.SectionRecording, time.Millisecond)
	alone := part(incident.SectionRecording, 200*time.Microsecond)
	for _, sections := range [][]incidents.Section{{slow, fast}, {alone}} {
		x := &incidents.Incident{Meta: incidents.Meta{Cause: "device-degraded"}, Sections: sections}
		require.NoError(t, incidents.Save(filepath.Join(dir, incidentsIn), x))
	}
	for _, args := range [][]string{{"1"}, {incidents.Path(filepath.Join(dir, incidentsIn), 1)}, {"2", "1"}} {
		code, out, notes := runApp(t.Context(), nil, append([]string{"diff", "--dir", dir, "--format", "json"}, args...)...)
		var d diff.Difference
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
			t.Fatalf("%q: code %d, %v, %s", args, code, err, notes)
		}
		if d.Sides[1].Primary != "device-degraded" || d.Sides[0].Primary == "device-degraded" {
			t.Errorf("%q: %+v", args, d.Sides)
		}
	}
	code, _, notes := runApp(t.Context(), nil, "diff", "--dir", dir, "2")
	if code != exitFailed || !strings.Contains(notes, "has no baseline") {
		t.Errorf("code %d, %s", code, notes)
	}
}

func TestDiffSaysWhatItCannot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.iocause")
	entries := []source.Entry{working("calm", sample.WaitIO)}
	if code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--interval", "100ms", "--duration", "1s"); code != 0 {
		t.Fatal(notes)
	}
	folded := filepath.Join(t.TempDir(), "stacks.folded")
	require.NoError(t, os.WriteFile(folded, []byte("a;b 12\n"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"diff"}, 2, "there is nothing to compare"},
		{[]string{"diff", path}, 2, "give a second recording, or --from-b and --to-b"},
		{[]string{"diff", "--dir", "/nowhere", "--from", "1h ago", "--from-b", "2h ago"}, 1, "open /nowhere: no such file"},
		{[]string{"diff", "--from", "1h ago", "--from-b", "1h ago"}, 2, "give a second recording, or --from-b and --to-b"},
		{[]string{"diff", "--dir", "/nowhere", "7"}, 1, "reading incident 7: there is no such incident in /nowhere/incidents: there is none at all yet"},
		{[]string{"diff", path, path, path}, 2, "is an unexpected argument"},
		{[]string{"diff", path, folded}, 1, "is not a recording of iocause; give two of the same kind"},
		{[]string{"diff", folded, folded}, 1, "is neither a recording nor output of a tool that 'iocause read' knows; to compare stacks, use 'iocause flame A B'"},
		{[]string{"diff", path, "/nowhere"}, 1, "open /nowhere"},
		{[]string{"diff", path, "--from-b", "noon"}, 2, `reading --from-b: "noon"`},
		{[]string{"diff", path, path, "--comm", "nobody-is"}, 1, `there is no process called "nobody-is"`},
		{[]string{"diff", path, path, "--format", "csv"}, 2, "use text or json"},
	} {
		code, out, notes := runApp(t.Context(), nil, c.args...)
		if code != c.code || out != "" || !strings.Contains(notes, c.want) {
			t.Errorf("%q: code %d, %q%q, want %d and %q", c.args, code, out, notes, c.code, c.want)
		}
	}
	// two times of one recording
	code, out, notes := runApp(t.Context(), nil, "diff", path, "--to", "+500ms", "--from-b", "+500ms", "--format", "json")
	var d diff.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Sides[0].Windows < 1 || d.Sides[1].Windows < 1 || !d.Sides[1].Start.After(d.Sides[0].Start) {
		t.Errorf("code %d, %v, %s%+v", code, err, notes, d.Sides)
	}
}

// The comparison as a page, beside what is printed: private, replaced by the next, and
// nothing else is.
func TestDiffAsAPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "x.html")
	for range 2 {
		code, out, stderr := runApp(t.Context(), nil, "diff", "testdata/golden/a.iocause", "testdata/golden/b.iocause", "-o", page)
		if code != exitWell || !strings.Contains(out, "FINDING") || !strings.Contains(stderr, "wrote "+page) {
			t.Fatalf("code %d: %s%s", code, out, stderr)
		}
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, want := range []string{"default-src 'none'", "<h2 id=\"s0\" tabindex=\"-1\">What was found</h2>", "B / A of the figures whose change stands out", "What proves them"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if info, err := os.Stat(page); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, args := range [][]string{{"a.iocause", "b.iocause", "-o", "-"}, {"a.iocause", "b.iocause", "-o", "x.txt"}} {
		if code, _, stderr := runApp(t.Context(), nil, append([]string{"diff"}, args...)...); code != exitUsage || !strings.Contains(stderr, "reading --output") {
			t.Errorf("%q: code %d: %s", args, code, stderr)
		}
	}
	mine := filepath.Join(t.TempDir(), "mine.html")
	require.NoError(t, os.WriteFile(mine, []byte("<p>mine</p>"), 0o600))
	if code, _, stderr := runApp(t.Context(), nil, "diff", "testdata/golden/a.iocause", "testdata/golden/b.iocause", "-o", mine); code == exitWell || !strings.Contains(stderr, "give another name") {
		t.Errorf("code %d: %s", code, stderr)
	}
}
