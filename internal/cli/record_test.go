package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/judge"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
	"iocause/internal/table"
	"iocause/internal/tool/record"
	"iocause/internal/view"
)

// windowsOf reads a recording whole.
func windowsOf(t *testing.T, path string) (*recording.Reader, []*recording.Record) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	var all []*recording.Record
	for {
		one, err := r.Next()
		if err == io.EOF {
			return r, all
		}
		require.NoError(t, err)
		all = append(all, one)
	}
}

// What was shown live is shown from the recording, to the byte, by every view
// and by the diagnosis.
func TestRecordedIsShownAsItWasLive(t *testing.T) {
	needProbes(t)
	file := bpftest.File(t, 800)
	var errs require.Output
	a := &env{streams: streams{stderr: &errs}, host: host.Live(), sources: source.List()}
	path := filepath.Join(t.TempDir(), "x.iocause")
	out, err := os.Create(path)
	require.NoError(t, err)
	r := &record.Recorder{Host: a.host, Interval: 400 * time.Millisecond, File: out, Note: func(err error) { t.Log(err) }}
	collector := source.Open(t.Context(), a.host, a.sources)
	defer collector.Close()
	collector.Begin()
	require.NoError(t, r.Begin(collector.Statuses()))
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			b, _ := os.ReadFile(file)
			_ = os.WriteFile(file+".copy", b, 0o600)
		}
	}()
	var windows []*sample.Window
	require.NoError(t, collector.Intervals(t.Context(), r.Interval, 3, func(w *sample.Window) error {
		windows = append(windows, w)
		return r.Window(w)
	}))
	require.NoError(t, r.To.End(recording.End{}))
	show := func(f func(p *console.Printer)) string {
		var live require.Output
		f(newPrinter(streams{stdout: &live, stderr: &errs}, &intervals{top: 20, format: "text", stamp: true}))
		return live.String()
	}
	for _, tool := range view.List() {
		by := tool.By
		if len(by) == 0 {
			by = []string{""}
		}
		for _, by := range by {
			q := &view.Query{By: by}
			want := show(func(p *console.Printer) {
				var total sample.Total
				for _, w := range windows {
					total.Add(w)
					require.NoError(t, p.Print(w.Start, w.Length, "", tool.View(w, q)))
				}
				w := total.Window()
				require.NoError(t, p.Print(w.Start, w.Length, fmt.Sprintf("in all, %s:", table.Duration(w.Seconds())), tool.View(w, q)))
			})
			args := []string{tool.Name, "0.4", "-t", "--sort", "", "--recording", path}
			if by != "" {
				args = append(args, "--by", by)
			}
			code, got, notes := runApp(t.Context(), nil, args...)
			if code != 0 || got != want || notes != "" {
				t.Errorf("%q: code %d, %s\nshows\n%s\nlive it was\n%s", args, code, notes, got, want)
			}
		}
	}

	var all sample.Join
	var cost source.Cost
	for _, w := range windows {
		all.Add(w)
	}
	_, records := windowsOf(t, path)
	for _, one := range records {
		cost.CPUSeconds += one.Cost.CPUSeconds
		cost.RSSBytes = max(cost.RSSBytes, one.Cost.RSSBytes)
	}
	live, err := source.ReadCost(&host.Host{}, all.Window())
	require.NoError(t, err)
	cost.BPFSeconds, cost.Lost = live.BPFSeconds, live.Lost
	fingerprint, err := a.host.Fingerprint()
	require.NoError(t, err)
	for _, format := range []string{"text", "json"} {
		var want require.Output
		report, err := judge.Window(all.Window(), diagnose.Target{}, nil, fingerprint, cost)
		require.NoError(t, err)
		require.NoError(t, printReport(&want, report, format, false))
		code, got, notes := runApp(t.Context(), nil, "diagnose", "--recording", path, "--format", format)
		if format == "json" { // sums of many figures differ in their last digits
			got, want := decode(t, got), decode(t, want.String())
			if code != 0 || got.Primary != want.Primary || !got.Window.Start.Equal(want.Window.Start) || got.Cost.CPUSeconds != want.Cost.CPUSeconds || got.Cost.RSSBytes != want.Cost.RSSBytes || got.Cost.LostEvents != want.Cost.LostEvents || !slices.Equal(got.Gaps, want.Gaps) ||
				len(got.Findings) != len(want.Findings) || fmt.Sprint(got.Host) != fmt.Sprint(want.Host) {
				t.Errorf("judges\n%+v\nlive it was\n%+v", got, want)
			}
			continue
		}
		if code != 0 || got != want.String() || notes != "" {
			t.Errorf("code %d, %s\njudges\n%s\nlive it was\n%s", code, notes, got, want.String())
		}
	}
}

func TestRecordRunsACommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.iocause")
	entries := []source.Entry{working("calm", sample.WaitIO)}
	code, out, notes := runApp(t.Context(), entries, "record", "-o", path, "--interval", "100ms", "--", "sh", "-c", "cat; sleep 0.35; exit 3")
	if code != 3 || out != "given\n" {
		t.Errorf("code %d, stdout %q, want 3 and what the command printed", code, out)
	}
	for _, want := range []string{"recording to " + path + " until sh ends\n", "see 'iocause diagnose --recording " + path + "'", "sh ran for ", "(exit status 3): ", " user, ", " of memory, "} {
		if !strings.Contains(notes, want) {
			t.Errorf("stderr lacks %q: %q", want, notes)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r, all := windowsOf(t, path)
	end, ok := r.End()
	h := r.Header()
	if !ok || end.Run == nil || !end.Run.Ended || end.Run.Exit != 3 || end.Run.Seconds < 0.35 || end.Run.MostBytes < 100<<10 ||
		string(h.Command.Name) != "sh" || !slices.ContainsFunc(end.Run.Processes, func(p recording.Process) bool { return p.PID == h.Command.PID && string(p.Comm) == "sh" }) {
		t.Errorf("header %+v, end %+v, %v", h, end.Run, ok)
	}
	if uint64(len(all)) != end.Windows || len(all) < 3 {
		t.Errorf("%d windows, the end says %d", len(all), end.Windows)
	}
	for i, one := range all[1:] {
		// starts are by the wall clock, lengths by one that is never set
		before := all[i].Window
		if off := one.Window.Start.Sub(before.Start.Add(before.Length)); off.Abs() > time.Millisecond {
			t.Errorf("window %d begins %v after the one before has ended", i+1, off)
		}
	}
	code, out, _ = runApp(t.Context(), nil, "diagnose", "--recording", path, "--format", "json")
	if report := decode(t, out); code != 0 || !slices.ContainsFunc(report.Gaps, func(g string) bool { return strings.Contains(g, "the command failed (exit status 3)") }) {
		t.Errorf("code %d, gaps %q", code, report.Gaps)
	}
}

func TestRecordEndsWithItsDurationOrAnInterrupt(t *testing.T) {
	entries := []source.Entry{working("calm", sample.WaitIO), fails("locks", os.ErrPermission, sample.LockWait)}
	for _, duration := range []string{"300ms", "0"} {
		path := filepath.Join(t.TempDir(), "x.iocause")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		code, _, notes := runApp(ctx, entries, "record", "-o", path, "--interval", "150ms", "--duration", duration)
		early := ctx.Err() == nil
		cancel()
		r, all := windowsOf(t, path)
		_, ended := r.End()
		if code != 0 || !ended || early != (duration == "300ms") || len(all) < 2 {
			t.Errorf("%s: code %d, ended in order %v, %d windows, %q", duration, code, ended, len(all), notes)
		}
		// what was missing from the start is missing in every part
		code, out, notes := runApp(t.Context(), nil, "cache", "--recording", path, "--from", "+150ms")
		if code != 0 || !strings.Contains(notes+out, "cache.accesses was not measured") {
			t.Errorf("code %d, %q%q", code, out, notes)
		}
		code, out, _ = runApp(t.Context(), nil, "diagnose", "--recording", path, "--from", "+150ms", "--format", "json")
		if report := decode(t, out); code != 0 || !slices.Contains(report.Gaps, "locks: permission denied") {
			t.Errorf("code %d, %q", code, report.Gaps)
		}
	}
}

// kill -9 costs the window that was being written, and the rest is judged.
func TestKilledRecording(t *testing.T) {
	t.Parallel() // most of the time it waits
	path := filepath.Join(t.TempDir(), "killed.iocause")
	c, _, notes := run{args: []string{"record", "-o", path, "--interval", "100ms"}}.command(t)
	require.NoError(t, c.Start())
	has := func() int {
		b, _ := os.ReadFile(path)
		return bytes.Count(b, []byte("\xabioc\r\n\x1a\xbb\x02"))
	}
	for began := time.Now(); has() < 4; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("no windows are written: %s", notes)
		}
	}
	before := has()
	require.NoError(t, c.Process.Kill())
	_ = c.Wait() // killed
	r, all := windowsOf(t, path)
	if told, more := r.Losses(); len(all) < before || len(told)+more > 1 {
		t.Errorf("%d windows, there were %d; losses %v", len(all), before, told)
	}
	code, out, errs := runApp(t.Context(), nil, "diagnose", "--recording", path)
	if code != 0 || !strings.Contains(out, "watched") || !strings.Contains(errs, "was not closed cleanly") {
		t.Errorf("code %d, %q%q", code, out, errs)
	}
}

// A disk that is full ends the recording, not the command, and keeps the rest.
func TestRecordOnAFullDisk(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("needs a file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "x.iocause")
	entries := []source.Entry{working("calm", sample.WaitIO)}
	code, out, notes := runApp(t.Context(), entries, "record", "-o", path, "--interval", "100ms", "--", "sh", "-c", "sleep 3; echo done")
	if code != 1 || out != "done\n" || !strings.Contains(notes, "no space left on device; ") || !strings.Contains(notes, " from before: "+path) {
		t.Errorf("code %d, %q, %q", code, out, notes)
	}
	if _, all := windowsOf(t, path); len(all) < 1 {
		t.Errorf("%d windows can be read", len(all))
	}
}

func TestRecordOverwritesOnlyRecordings(t *testing.T) {
	entries := []source.Entry{working("calm", sample.WaitIO)}
	path := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o644))
	if code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--duration", "100ms"); code != 1 || !strings.Contains(notes, "not a recording; give another name") {
		t.Errorf("code %d, %q", code, notes)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
		t.Errorf("%q, %v", b, err)
	}
	path += "2"
	for range 2 {
		if code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--duration", "150ms"); code != 0 {
			t.Errorf("code %d, %q", code, notes)
		}
	}
	// an earlier one stays until something is observed
	earlier, err := os.ReadFile(path)
	require.NoError(t, err)
	over, end := context.WithCancel(t.Context())
	end()
	for _, args := range [][]string{{"record", "-o", path}, {"record", "-o", path, "--", "/etc/passwd"}} {
		ctx := t.Context()
		if len(args) == 3 {
			ctx = over
		}
		code, _, notes := runApp(ctx, entries, args...)
		if b, err := os.ReadFile(path); code != 1 || err != nil || !bytes.Equal(b, earlier) {
			t.Errorf("%q: code %d, %d bytes of %d, %v, %q", args, code, len(b), len(earlier), err, notes)
		}
	}
	// a command that cannot be started leaves no file behind
	path += "3"
	code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--", "/etc/passwd")
	if _, err := os.Stat(path); code != 1 || !os.IsNotExist(err) {
		t.Errorf("code %d, %v, %q", code, err, notes)
	}
}

// What is damaged is said, beside the tables and in the diagnosis, and the rest
// is shown.
func TestPlaybackOfADamagedRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.iocause")
	entries := []source.Entry{working("calm", sample.WaitIO)}
	if code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--interval", "100ms", "--duration", "600ms"); code != 0 {
		t.Fatal(notes)
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	_, whole := windowsOf(t, path)
	at := bytes.Index(b, []byte("\xabioc\r\n\x1a\xbb\x02")) // the first window
	second := at + 8 + bytes.Index(b[at+8:], []byte("\xabioc\r\n\x1a\xbb\x02"))
	b[second+60] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o600))
	want := fmt.Sprintf("from byte %d on cannot be read: a record's checksum is wrong; what was between ", second)
	code, out, notes := runApp(t.Context(), nil, "use", "0.1", "--recording", path, "--format", "csv")
	if code != 0 || !strings.Contains(notes, want) {
		t.Errorf("code %d, %q%q, want %q", code, out, notes, want)
	}
	code, out, _ = runApp(t.Context(), nil, "diagnose", "--recording", path, "--format", "json")
	report := decode(t, out)
	said := slices.ContainsFunc(report.Gaps, func(g string) bool { return strings.Contains(g, want) })
	observed := 0.0
	for i, one := range whole {
		if i != 1 {
			observed += one.Window.Seconds()
		}
	}
	if code != 0 || !said || math.Abs(report.Window.Seconds-observed) > 1e-6 {
		t.Errorf("code %d, %g s of %g, gaps %q", code, report.Window.Seconds, observed, report.Gaps)
	}
}

func TestPlaybackSaysWhatItCannot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.iocause")
	entries := []source.Entry{working("calm", sample.WaitIO)}
	if code, _, notes := runApp(t.Context(), entries, "record", "-o", path, "--interval", "100ms", "--duration", "300ms"); code != 0 {
		t.Fatal(notes)
	}
	other := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(other, []byte("PID COMMAND\n"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"cache", "--recording", other}, 1, "not a recording of iocause: it does not begin with \"iocause-recording\"; give a file of 'iocause record'"},
		{[]string{"cache", "--recording", "/dev/null"}, 1, "must be a file"},
		{[]string{"cache", "--recording", ""}, 2, "reading --recording: the name is empty"},
		{[]string{"cache", "--recording", path, "--from", "2000-01-01", "--to", "2000-01-02"}, 1, "nothing was recorded in that time; it holds "},
		{[]string{"cache", "--recording", path, "--from", "+2s", "--to", "+1s"}, 2, "is not after"},
		{[]string{"cache", "--recording", path, "--to", "noon"}, 2, `reading --to: "noon": that is not a time`},
		{[]string{"cache", "0.05", "--recording", path}, 2, "is not a time of 100ms or more"},
		{[]string{"files", "--slow", "1ms", "--recording", path}, 2, "a recording counts accesses that waited 10ms or longer"},
		{[]string{"cache", "--pid", "999999", "--recording", path}, 1, "there is no process 999999 in that time"},
		{[]string{"disk", "--device", "sdzz", "--recording", path}, 1, `there is no device called "sdzz" in that time`},
		{[]string{"diagnose", "--comm", "nobody-is", "--recording", path}, 1, `there is no process called "nobody-is"`},
		{[]string{"diagnose", "--recording", path, "--duration", "5s"}, 2, "choose a part of the recording with --from and --to"},
		{[]string{"diagnose", "--recording", path, "--", "true"}, 2, "a recording and a command cannot be combined"},
		{[]string{"diagnose", "--to", "14:00"}, 2, "the start of the time is missing"},
		{[]string{"record", "--interval", "1ms"}, 2, "too short"},
		{[]string{"record", "dd"}, 2, "put -- before a command to record"},
	} {
		code, out, notes := runApp(t.Context(), nil, c.args...)
		if code != c.code || out != "" || !strings.Contains(notes, c.want) {
			t.Errorf("%q: code %d, %q%q, want %d and %q", c.args, code, out, notes, c.code, c.want)
		}
	}
}
