package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/tool/read"
)

// runRead runs "iocause read" and demands an exit code.
func runRead(t *testing.T, stdin string, code int, args ...string) (out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &env{streams: streams{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr}, host: host.Live()}
	if got := runLine(context.Background(), a, append([]string{"read"}, args...)); got != code {
		t.Errorf("read %q exits with %d, want %d: %s", args, got, code, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// reports are the reports of a text, case by case.
func reports(t *testing.T, args ...string) []*diagnose.Report {
	t.Helper()
	out, _ := runRead(t, "", 0, append([]string{"--format", "json"}, args...)...)
	var d read.Document
	require.NoError(t, json.Unmarshal([]byte(out), &d))
	var all []*diagnose.Report
	for _, c := range d.Cases {
		all = append(all, c.Report)
	}
	return all
}

func evidence(t *testing.T, r *diagnose.Report, name string, low, high float64) diagnose.Evidence {
	t.Helper()
	for _, e := range r.Findings[0].Evidence {
		if e.Name == name {
			if e.Value < low || e.Value > high {
				t.Errorf("%s is %g, want %g to %g", name, e.Value, low, high)
			}
			return e
		}
	}
	t.Errorf("%s is no evidence of %s", name, r.Primary)
	return diagnose.Evidence{}
}

// A file larger than the cache, then one that fits: the first busts the cache
// and keeps the device queue full, the second is healthy.
func TestReadUpload(t *testing.T) {
	file := filepath.Join("testdata", "read", "upload.txt")
	all := reports(t, file)
	if len(all) != 2 || all[0].Primary != "cache-busting" || all[1].Primary != diagnose.Healthy {
		t.Fatalf("the cases are %v", primaries(all))
	}
	r := all[0]
	evidence(t, r, "lowest of an interval", .065, .066)
	evidence(t, r, "highest of an interval", .741, .742)
	evidence(t, r, "page cache", 46.8*(1<<30), 47*(1<<30))
	evidence(t, r, "memory free", 349<<20, 349<<20)
	evidence(t, r, "read from xvdb", 91e3*1024, 92.2e3*1024)
	evidence(t, r, "latency of xvdb", .033, .034)
	if e := evidence(t, r, "mean in flight", 24.5, 25.5); e.Source != file+":14-32" {
		t.Errorf("it is from %s, want %s:14-32", e.Source, file)
	}
	if len(r.Findings) != 2 || r.Findings[1].Cause != "device-queueing" {
		t.Errorf("the findings are %v, want device-queueing as well", r.Findings)
	}
	if r.Victim.Comm != "java" {
		t.Errorf("the victim is %q, want java", r.Victim.Comm)
	}
	evidence(t, all[1], "page cache hit ratio", 1, 1)
	out, _ := runRead(t, "", 0, file)
	for _, words := range []string{"WHAT DIFFERS: cache-busting, then healthy", "page cache hit ratio", "349 MiB"} {
		if !strings.Contains(out, words) {
			t.Errorf("the text lacks %q:\n%s", words, out)
		}
	}
}

func primaries(all []*diagnose.Report) []diagnose.ID {
	var out []diagnose.ID
	for _, r := range all {
		out = append(out, r.Primary)
	}
	return out
}

// Reads past, from and partly from the cache; writes below and above the dirty
// limit. Some runs are shown several times, with damaged figures.
func TestReadRuns(t *testing.T) {
	all := reports(t, filepath.Join("testdata", "read", "fio-runs.txt"))
	want := []diagnose.ID{
		"device-latency-bound", // 2 GiB for the first time
		"healthy",              // again: all in the cache
		"device-latency-bound", // 4 GiB for the first time
		"cache-busting",        // again: more than fits
		"device-latency-bound", // 2 GiB with half of the memory taken
		"cache-busting",        // again: more than fits
		"dirty-throttling",     // 2 GiB written
		"healthy",              // 500 MiB written, below the limit
		"dirty-throttling",     // 2 GiB with half of the memory taken
		"dirty-throttling",     // 500 MiB, above the limit now
	}
	if got := primaries(all); !slices.Equal(got, want) {
		t.Fatalf("the causes are %v, want %v", got, want)
	}
	evidence(t, all[0], "time of one read", 382e-6, 383e-6)
	evidence(t, all[0], "reads of fio", 2609, 2610)
	evidence(t, all[0], "operations a second x latency", .95, 1)
	evidence(t, all[1], "page cache hit ratio", 1, 1)
	evidence(t, all[3], "page cache hit ratio", .36, .38)
	evidence(t, all[3], "memory available", 3179<<20, 3179<<20)
	evidence(t, all[7], "dirty limit", 921<<20, 922<<20)
	evidence(t, all[7], "written", 500<<20, 500<<20)
	evidence(t, all[8], "dirty limit", 305<<20, 306<<20)
	evidence(t, all[9], "dirty limit", 306<<20, 307<<20)
}

// What a text cannot tell stays open, with its figures and what to run next.
func TestReadWithoutACause(t *testing.T) {
	for file, words := range map[string][]string{
		"threads.txt": {"CANNOT TELL: something waits", "threads in state D", "62.5 %", "10 of 16 threads", "off-CPU stacks", "iostat -xz 1 5"},
		"dd.txt":      {"CANNOT TELL: something waits", "12.7 ms a record", "every record waited", "this rules out a bandwidth limit", "compare: the same dd"},
	} {
		path := filepath.Join("testdata", "read", file)
		if all := reports(t, path); len(all) != 1 || all[0].Primary != diagnose.Unknown {
			t.Errorf("%s: the causes are %v", file, primaries(all))
		}
		out, _ := runRead(t, "", 0, path)
		for _, w := range words {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), w) {
				t.Errorf("%s lacks %q:\n%s", file, w, out)
			}
		}
	}
}

func TestReadList(t *testing.T) {
	out, _ := runRead(t, "", 0, "--list", filepath.Join("testdata", "read", "upload.txt"))
	if !strings.Contains(out, "iostat") || !strings.Contains(out, " of no output") || strings.Count(out, "cachestat") != 2 {
		t.Errorf("the list is\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

func TestReadSeries(t *testing.T) {
	file := filepath.Join("testdata", "read", "upload.txt")
	out, _ := runRead(t, "", 0, "--series", file)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	want := []string{file, "14-32", "iostat", "2", "disk.reads", "count", "xvdb", "", "", "739"}
	if !slices.ContainsFunc(rows, func(r []string) bool { return slices.Equal(r, want) }) {
		t.Errorf("the series lack %q", want)
	}
	out, _ = runRead(t, "", 0, "--series", "--format", "json", file)
	var v struct{ Metric string }
	if err := json.Unmarshal([]byte(out[:strings.IndexByte(out, '\n')]), &v); err != nil || v.Metric == "" {
		t.Errorf("the first line is no value: %v, %s", err, out[:200])
	}
}

// The same text from a pipe, compressed, with colour codes, and in several
// files.
func TestReadInputs(t *testing.T) {
	path := filepath.Join("testdata", "read", "upload.txt")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(b)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.Close())
	for name, stdin := range map[string]string{
		"pipe": text, "gzip": z.String(), "colours": strings.ReplaceAll(text, "xvdb", "\x1b[1;34mxvdb\x1b[0m"), "dos": strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		out, _ := runRead(t, stdin, 0, "--format", "json")
		if !strings.Contains(out, `"primary": "cache-busting"`) || !strings.Contains(out, "stdin:14-32") {
			t.Errorf("%s: %.600s", name, out)
		}
	}
	dir := t.TempDir()
	var files []string
	lines := strings.SplitAfter(text, "\n")
	for i, part := range []string{strings.Join(lines[:33], ""), "$ free -m\n" + strings.Join(lines[56:59], "")[strings.Index(strings.Join(lines[56:59], ""), "total"):], strings.Join(lines[59:67], "")} {
		f := filepath.Join(dir, []string{"a", "b", "c"}[i])
		require.NoError(t, os.WriteFile(f, []byte(part), 0o600))
		files = append(files, f)
	}
	if all := reports(t, files...); len(all) != 1 || all[0].Primary != "cache-busting" {
		t.Errorf("three files are the cases %v", primaries(all))
	}
	// truncated at both ends
	out, _ := runRead(t, strings.Join(lines[12:30], ""), 0, "--format", "json")
	if !strings.Contains(out, "xvdb") {
		t.Errorf("a piece of iostat gives %.400s", out)
	}
}

func TestReadComplaints(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		stdin string
		code  int
		args  []string
		words string
	}{
		{perfText, 1, nil, "but stacks of functions: draw them with 'iocause flame'"},
		{"nothing of interest\n![a picture](x.png)\n", 1, nil, "none in 2 lines, but 1 image"},
		{"", 1, []string{none}, "no such file"},
		{"", 2, []string{"--as", "xyz"}, "use one of iostat"},
		{"", 2, []string{"--format", "csv"}, "use text or json"},
		{"", 2, []string{"--list", "--series"}, "cannot be combined"},
		{"\x28\xb5\x2f\xfd1234", 1, nil, "unpacking zstd at byte 7 of the archive"},
		{"\x1f\x8b12", 1, nil, "unpacking gzip at byte 4 of the archive: it is cut off"},
		{"", 1, nil, "the text is empty; name a file, or send output to it: iostat -xz 1 5 | iocause read"},
		{"nothing of interest\n", 1, nil, "none in 1 line; the 41 kinds that it reads, iostat, vmstat and fio among them, are in 'iocause read --help'"},
		{"   total  used  free  shared  buff/cache  available\nMem: 12 1\n", 1, nil, "none in 2 lines"},
		{"   total  used  free  shared  buff/cache  available\nMem: 12 1\nSwap: 9 1 8\n", 0, nil, "stdin:2: free: 2 figures below 6 columns"},
	} {
		_, notes := runRead(t, c.stdin, c.code, c.args...)
		if !strings.Contains(notes, c.words) {
			t.Errorf("%q says %q, want %q", c.args, notes, c.words)
		}
	}
}

// Of an archive that is cut off, what came before is judged, and the exit code
// tells.
func TestReadCutArchive(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte("available memory : 100 MB\n")); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "cut.gz")
	require.NoError(t, os.WriteFile(name, z.Bytes()[:z.Len()-4], 0o600))
	out, notes := runRead(t, "", 1, "--list", name)
	if want := fmt.Sprintf("cut.gz after line 1: unpacking gzip at byte %d of the archive: it is cut off; the part before it is judged", z.Len()-4); !strings.Contains(notes, want) || !strings.Contains(out, "settings") {
		t.Errorf("%s%s, want %q", out, notes, want)
	}
}
