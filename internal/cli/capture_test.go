package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/incident"
	"iocause/internal/incident/present"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
)

// What is captured by hand has all evidence, and every command shows its part
// of it, in every format.
func TestCaptureIsPlayedBack(t *testing.T) {
	needProbes(t)
	bpftest.File(t, 4) // I/O of ours, whatever else goes on
	name := filepath.Join(t.TempDir(), "x.iocause")
	dir := t.TempDir()
	shelveTop(t, dir, time.Now().Add(-50*time.Second)) // as an agent does
	stop := doKnownThings(t)
	code, out, stderr := run{args: []string{"capture", "--duration", "400ms", "--note", "a\x1btest", "-o", name, "--dir", dir}}.do(t)
	stop()
	if code != 0 || !strings.Contains(out, "Kept; see: iocause incident") {
		t.Fatalf("code %d: %s%s", code, out, stderr)
	}
	if code, _, stderr := runApp(t.Context(), source.List(), "capture", "-o", name); code != exitFailed || !strings.Contains(stderr, "it exists already") {
		t.Errorf("a file is overwritten: code %d, %s", code, stderr)
	}
	code, out, stderr = runApp(t.Context(), source.List(), "incident", name)
	if code != 0 || strings.Contains(out, "\x1b") || !strings.Contains(out, "captured by hand: a") || strings.Contains(out, "not gathered") ||
		strings.Contains(out, "cannot be shown") || strings.Count(out, "\n== iocause ") != 11 {
		t.Errorf("code %d, %s\n%s", code, stderr, out)
	}
	code, out, _ = runApp(t.Context(), source.List(), "incident", name, "--format", "json")
	var x struct {
		Sections []struct{ Name string }
		Shown    map[string]map[string]any
		Lost     []string
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 || len(x.Sections) != 9 || len(x.Lost) > 0 {
		t.Errorf("code %d, %v: %+v", code, err, x)
	}
	for _, want := range []string{"files", "disk", "evictions", "top", "trace", "burst"} {
		if len(x.Shown[want]) == 0 {
			t.Errorf("%s is not shown in JSON", want)
		}
	}
	for _, command := range []string{"top", "threads", "latency", "offcpu", "oncpu", "trace", "burst", "resident", "mem", "use", "cache", "disk", "files", "evictions", "writeback"} {
		for _, format := range []string{"text", "json", "csv"} {
			args := []string{command, "--recording", name, "--format", format}
			if code, out, stderr := runApp(t.Context(), source.List(), args...); code != 0 || out == "" {
				t.Errorf("%q: code %d, %s", args, code, stderr)
			}
		}
	}
	for args, want := range map[string]string{
		"threads 5":              "has no intervals",
		"threads --histogram":    "--histogram and --recording cannot be combined",
		"offcpu --duration 3s":   "--duration and --recording cannot be combined",
		"resident --pid 1":       "--pid and --recording cannot be combined",
		"mem --exact":            "--exact and --recording cannot be combined",
		"trace -o /x":            "--output and --recording cannot be combined",
		"trace --from 10:00":     "covers one time only",
		"burst --file x":         "bursts are counted by process and cgroup",
		"latency 1":              "has no intervals",
		"latency --slow 1us":     "the stacks of calls that took 1ms or longer",
		"latency --syscall x":    "there is no system call \"x\"",
		"latency --syscall poll": "the incident holds no poll: calls that wait for events are left out",
		"oncpu --hz 9":           "--hz and --recording cannot be combined",
	} {
		all := append(strings.Fields(args), "--recording", name)
		if code, _, stderr := runApp(t.Context(), source.List(), all...); code == exitWell || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q, want %q", all, code, stderr, want)
		}
	}
	knownThingsAreKept(t, name)
	html := filepath.Join(t.TempDir(), "x.html")
	if code, _, stderr := runApp(t.Context(), source.List(), "offcpu", "--recording", name, "-o", html); code != 0 {
		t.Errorf("code %d: %s", code, stderr)
	} else if b, err := os.ReadFile(html); err != nil || !strings.Contains(string(b), "<html") {
		t.Errorf("%v", err)
	}
}

// doKnownThings keeps a processor busy, and a thread in reads that take longer
// than 10 ms, until it is told to stop.
func doKnownThings(t *testing.T) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	computed := make(chan struct{})
	go func() {
		defer close(computed)
		for n := uint64(0); ; n = runInAKnownFunction(n) {
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	read := readSlowly(t)
	return func() {
		close(over)
		<-computed
		read()
	}
}

// knownThingsAreKept asks the evidence for what doKnownThings did.
func knownThingsAreKept(t *testing.T, name string) {
	t.Helper()
	self := strconv.Itoa(os.Getpid())
	code, out, stderr := runApp(t.Context(), source.List(), "oncpu", "--recording", name, "--pid", self, "-o", "-")
	if code != 0 || !strings.Contains(out, ";iocause/internal/cli.runInAKnownFunction;[user] ") {
		t.Errorf("code %d, what ran is not in %q, %s", code, out, stderr)
	}
	ask := func(args ...string) []map[string]any {
		t.Helper()
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"latency", "--recording", name, "--pid", self, "--syscall", "read", "--format", "json"}, args...)...)
		if calls := rows(t, out, "calls"); code != 0 || len(calls) != 1 || calls[0]["calls"].(float64) < 1 || calls[0]["wall_max_s"].(float64) < 0.01 {
			t.Errorf("code %d, %s%s", code, out, stderr)
		}
		return rows(t, out, "slowest")
	}
	slow := ask()
	if len(slow) == 0 || !strings.Contains(slow[0]["stack"].(string), "pipe_read < ") || !strings.Contains(slow[0]["stack"].(string), " < iocause/internal/cli.readInAKnownFunction < ") {
		t.Errorf("the slowest read is not in %v", slow)
	}
	if slow := ask("--slow", "1h"); len(slow) != 0 {
		t.Errorf("no call takes an hour: %v", slow)
	}
}

// The service has three capabilities and no more: it gathers all the same, and
// counts the cached pages of files that it may not open.
func TestCaptureAsTheService(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	needProbes(t)
	for try := range 3 { // others may read more, and the kernel may evict
		dir, err := os.MkdirTemp("/var/tmp", "iocause-capture-")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(t, os.Chown(dir, nobodyID, nobodyID))
		c, out, stderr := run{args: []string{"capture", "--duration", "300ms", "--dir", dir}, uid: nobodyID}.command(t)
		c.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE}
		secret := readInSecret(t)
		err = c.Run()
		in, names := secret()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		code, text, stderr2 := runApp(t.Context(), source.List(), "incident", "1", "--dir", dir, "--format", "json")
		var x present.Document
		if err := json.Unmarshal([]byte(text), &x); err != nil || code != 0 || len(x.Notes) > 0 || len(x.Sections) != 8 {
			t.Fatalf("%s: code %d, %v, notes %q, %d sections: %s", out, code, err, x.Notes, len(x.Sections), stderr2)
		}
		window, evidence := windowResidency(t, dir, in), evidenceResidency(t, dir, names)
		if slices.Contains(window, secretRead) && slices.Contains(evidence, secretRead) {
			return
		}
		t.Logf("try %d: of %d files with %d pages each in the cache, the window has %v and the evidence %v", try, len(in), secretRead, window, evidence)
	}
	t.Error("the cached pages of files of others are not counted")
}

// Of each file so many pages are read, and the others never.
const secretRead, secretPages = 2020, 8080

// readInSecret reads a part of one file after the other that only root can
// open, until it is told to stop. They are removed at the end of the test.
func readInSecret(t *testing.T) (stop func() (in []uint64, names []string)) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-secret-") // for its owner only
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	var in []uint64
	var names []string
	over, done := make(chan struct{}), make(chan struct{})
	one := func() error {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(len(names))))
		if err != nil {
			return err
		}
		defer f.Close()
		var st unix.Stat_t
		if err := errors.Join(f.Truncate(secretPages*int64(os.Getpagesize())), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM), unix.Fstat(int(f.Fd()), &st)); err != nil {
			return err
		}
		buf := make([]byte, os.Getpagesize())
		for i := range int64(secretRead) {
			if _, err := f.ReadAt(buf, i*int64(len(buf))); err != nil {
				return err
			}
		}
		in, names = append(in, st.Ino), append(names, f.Name())
		return nil
	}
	go func() {
		defer close(done)
		for len(names) < 150 {
			select {
			case <-over:
				return
			case <-time.After(40 * time.Millisecond):
			}
			if err := one(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	return func() ([]uint64, []string) {
		close(over)
		<-done
		return in, names
	}
}

// windowResidency is what the window of an incident has of files with these
// inode numbers.
func windowResidency(t *testing.T, dir string, in []uint64) (pages []int) {
	t.Helper()
	x, err := incidents.Load(filepath.Join(dir, incidentsIn), 1)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "window")
	for _, s := range x.Sections {
		if s.Name == incident.SectionRecording {
			require.NoError(t, os.WriteFile(path, s.Data, 0o600))
		}
	}
	_, all := windowsOf(t, path)
	for _, r := range all {
		r.Window.Each(sample.CacheResident, func(e sample.Entity, s *sample.Series) {
			if slices.Contains(in, e.File.Ino) {
				pages = append(pages, int(s.Last()))
			}
		})
	}
	return pages
}

// evidenceResidency is what the look at the whole cache has of these files.
func evidenceResidency(t *testing.T, dir string, names []string) (pages []int) {
	t.Helper()
	code, out, stderr := runApp(t.Context(), source.List(), "resident", "--recording", "1", "--dir", dir, "--top", "0", "--format", "json")
	if code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	for _, r := range rows(t, out, "files") {
		if file, _ := r["file"].(string); slices.Contains(names, file) {
			pages = append(pages, int(r["cached_bytes"].(float64))/os.Getpagesize())
		}
	}
	return pages
}

// A capture by root beside an agent of another user can be read by the agent,
// and takes no number of it.
func TestCaptureBesideAnAgent(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	needProbes(t)
	dir := kept(t)
	require.NoError(t, os.Chown(dir, nobodyID, nobodyID))
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
