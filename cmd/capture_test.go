package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/source"
)

// What is captured by hand has all evidence, and every command shows its part
// of it, in every format.
func TestCaptureIsPlayedBack(t *testing.T) {
	needProbes(t)
	bpftest.File(t, 4) // I/O of ours, whatever else goes on
	name := filepath.Join(t.TempDir(), "x.iocause")
	dir := t.TempDir()
	shelveTop(t, dir, time.Now().Add(-50*time.Second)) // as an agent does
	code, out, stderr := run{args: []string{"capture", "--duration", "600ms", "--note", "a\x1btest", "-o", name, "--dir", dir}}.do(t)
	if code != 0 || !strings.Contains(out, "Kept; see: iocause incident") {
		t.Fatalf("code %d: %s%s", code, out, stderr)
	}
	if code, _, stderr := runApp(t.Context(), source.List(), "capture", "-o", name); code != exitFailed || !strings.Contains(stderr, "it is there already") {
		t.Errorf("a file is overwritten: code %d, %s", code, stderr)
	}
	code, out, stderr = runApp(t.Context(), source.List(), "incident", name)
	if code != 0 || strings.Contains(out, "\x1b") || !strings.Contains(out, "captured by hand: a") || strings.Contains(out, "not gathered") ||
		strings.Contains(out, "cannot be shown") || strings.Count(out, "\n== iocause ") != 9 {
		t.Errorf("code %d, %s\n%s", code, stderr, out)
	}
	code, out, _ = runApp(t.Context(), source.List(), "incident", name, "--format", "json")
	var x struct {
		Sections []struct{ Name string }
		Shown    map[string]map[string]any
		Lost     []string
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 || len(x.Sections) != 7 || len(x.Lost) > 0 {
		t.Errorf("code %d, %v: %+v", code, err, x)
	}
	for _, want := range []string{"files", "disk", "evictions", "top", "trace", "burst"} {
		if len(x.Shown[want]) == 0 {
			t.Errorf("%s is not shown in JSON", want)
		}
	}
	for _, command := range []string{"top", "threads", "offcpu", "trace", "burst", "resident", "mem", "use", "cache", "disk", "files", "evictions", "writeback"} {
		for _, format := range []string{"text", "json", "csv"} {
			args := []string{command, "--recording", name, "--format", format}
			if code, out, stderr := runApp(t.Context(), source.List(), args...); code != 0 || out == "" {
				t.Errorf("%q: code %d, %s", args, code, stderr)
			}
		}
	}
	for args, want := range map[string]string{
		"threads 5":            "is one look, without intervals",
		"threads --histogram":  "--histogram and --recording exclude each other",
		"offcpu --duration 3s": "--duration and --recording exclude each other",
		"resident --pid 1":     "--pid and --recording exclude each other",
		"mem --exact":          "--exact and --recording exclude each other",
		"trace -o /x":          "--output and --recording exclude each other",
		"trace --from 10:00":   "is of one time",
		"burst --file x":       "milliseconds are kept by process and cgroup",
		"latency":              "it holds no system calls",
	} {
		all := append(strings.Fields(args), "--recording", name)
		if code, _, stderr := runApp(t.Context(), source.List(), all...); code == exitWell || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q, want %q", all, code, stderr, want)
		}
	}
	html := filepath.Join(t.TempDir(), "x.html")
	if code, _, stderr := runApp(t.Context(), source.List(), "offcpu", "--recording", name, "-o", html); code != 0 {
		t.Errorf("code %d: %s", code, stderr)
	} else if b, err := os.ReadFile(html); err != nil || !strings.Contains(string(b), "<html") {
		t.Errorf("%v", err)
	}
}

// The service has three capabilities and no more: it gathers all the same.
func TestCaptureAsTheService(t *testing.T) {
	bpftest.Root(t)
	needProbes(t)
	dir, err := os.MkdirTemp("/var/tmp", "iocause-capture-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
		t.Fatal(err)
	}
	r := run{args: []string{"capture", "--duration", "300ms", "--dir", dir}, uid: nobodyID}
	c, out, stderr := r.command(t)
	c.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE}
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	code, text, stderr2 := runApp(t.Context(), source.List(), "incident", "1", "--dir", dir, "--format", "json")
	var x incidentDocument
	if err := json.Unmarshal([]byte(text), &x); err != nil || code != 0 || len(x.Notes) > 0 || len(x.Sections) != 6 {
		t.Errorf("%s: code %d, %v, notes %q, %d sections: %s", out, code, err, x.Notes, len(x.Sections), stderr2)
	}
}

// A capture by root beside an agent of another user can be read by the agent,
// and takes no number of it.
func TestCaptureBesideAnAgent(t *testing.T) {
	bpftest.Root(t)
	needProbes(t)
	dir := kept(t)
	if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := run{args: []string{"capture", "--duration", "200ms", "--dir", dir}}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	number := strings.Fields(out[strings.Index(out, "iocause incident ")+len("iocause incident "):])[0]
	files, err := filepath.Glob(filepath.Join(dir, incidentsIn, "*"+number+".iocause"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q: %v, %v", out, files, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(files[0], &st); err != nil || st.Uid != nobodyID || st.Mode&0o077 != 0 {
		t.Errorf("%v, %+v", err, st)
	}
}
