package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/probe/trace"
	"iocause/internal/store/tracefile"
)

const hostileName = "a\x1b[2J\n\u202eb<script>"

// recorded is a file with n I/Os of two processes on a disk, one every
// millisecond and, in every tenth 10 ms, fifty of the second process.
func recorded(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := tracefile.NewWriter(f, tracefile.Header{Began: time.Unix(1700000000, 0).UTC()})
	require.NoError(t, err)
	add := func(at time.Duration, pid int, comm string) {
		x := sample.IO{Start: at, Queue: 1000, Device: 100000, Disk: "sdx", Bytes: 4096, PID: pid, TID: pid, Comm: comm, Cgroup: "/g/" + comm, File: "/f/" + hostileName}
		require.NoError(t, w.Add(&x))
	}
	for i := range n {
		at := time.Duration(i) * time.Millisecond
		add(at, 7, "steady")
		if i%100 == 0 {
			for k := range 50 {
				add(at+time.Duration(k)*1000, 8, hostileName)
			}
		}
	}
	w.Losses(tracefile.Losses{Dropped: 3})
	require.NoError(t, w.End(time.Duration(n)*time.Millisecond))
	return path
}

func TestAFileIsSummedUp(t *testing.T) {
	path := recorded(t, 2000)
	code, out, err := runApp(t.Context(), nil, "trace", "-i", path, "--summary", "--format", "json")
	if code != 0 {
		t.Fatalf("code %d, %s", code, err)
	}
	type row map[string]any
	var got struct {
		Label     string
		Seconds   float64
		Processes struct {
			Rows  []row
			Notes []string
		}
		Disks, Bursts struct{ Rows []row }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	p := got.Processes.Rows
	if len(p) != 2 || p[0]["comm"] != "steady" || p[0]["ios"] != 2000.0 || p[1]["ios"] != 1000.0 || p[1]["read_bytes"] != 4096000.0 {
		t.Errorf("processes %+v", p)
	}
	if got.Label != "3000 I/Os in 2 s" || got.Seconds != 2 || len(got.Processes.Notes) != 1 || !strings.HasPrefix(got.Processes.Notes[0], "3 I/Os are missing") {
		t.Errorf("label %q of %g s, notes %q", got.Label, got.Seconds, got.Processes.Notes)
	}
	// 20 of 200 bins have 60 I/Os, the others 10
	if d := got.Disks.Rows[0]; d["mean_per_s"] != 1500.0 || d["peak_10ms_per_s"] != 6000.0 || d["plateau_per_s"] != 6000.0 || d["plateau_time_ratio"] != 0.1 || d["peak_1s_per_s"] != 1500.0 {
		t.Errorf("disk %+v", d)
	}
	if b := got.Bursts.Rows; len(b) != 2 || b[0]["comm"] != hostileName || b[0]["plateau_ios"] != 1000.0 || b[0]["below_ratio"] != 0.0 {
		t.Errorf("bursts %+v", b)
	}
}

func TestAFileIsShownAndFiltered(t *testing.T) {
	path := recorded(t, 300)
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 450}, {[]string{"--pid", "8"}, 150}, {[]string{"--comm", "steady"}, 300}, {[]string{"--cgroup", "/g"}, 450},
		{[]string{"--cgroup", "/g/steady"}, 300}, {[]string{"--device", "sdy"}, 0}, {[]string{"--min", "102us"}, 0}, {[]string{"--ios", "17"}, 17},
		{[]string{"--file", "/f"}, 450}, {[]string{"--file", "/g"}, 0}, {[]string{"--file", "*<script>"}, 450},
	} {
		args := append([]string{"trace", "-i", path, "--format", "csv"}, c.args...)
		code, out, err := runApp(t.Context(), nil, args...)
		if n := strings.Count(out, "\n") - 1; code != 0 || n != c.want {
			t.Errorf("%q: code %d, %d I/Os, want %d; %s", args, code, n, c.want, err)
		}
	}
	code, out, _ := runApp(t.Context(), nil, "trace", "-i", path)
	if code != 0 || strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("code %d, and escape sequences get through:\n%q", code, out)
	}
	for i, line := range strings.Split(out, "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("line %d has %d columns: %s", i, n, line)
		}
	}
}

func TestACutFileIsReadAndSaid(t *testing.T) {
	path := recorded(t, 5000)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b[:len(b)-1], 0o600))
	code, out, _ := runApp(t.Context(), nil, "trace", "-i", path, "--summary")
	if code != 0 || !strings.Contains(out, "cannot be read from byte") || strings.Contains(out, " 0 I/Os") {
		t.Errorf("code %d: %s", code, out)
	}
	code, _, stderr := runApp(t.Context(), nil, "trace", "-i", os.Args[0])
	if code != 1 || !strings.Contains(stderr, "not a trace of iocause") {
		t.Errorf("code %d: %s", code, stderr)
	}
}

func TestNothingElseIsOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(path, []byte("data"), 0o644))
	link := path + ".link"
	require.NoError(t, os.Symlink(recorded(t, 1), link))
	for _, name := range []string{path, link, t.TempDir()} {
		code, _, stderr := runApp(t.Context(), nil, "trace", "-o", name, "--duration", "100ms")
		if code != 1 || !strings.Contains(stderr, "give another name") {
			t.Errorf("%s: code %d, %s", name, code, stderr)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "data" {
		t.Errorf("the file holds %q", b)
	}
}

// A trace that is killed leaves a file that can be read, and nobody else can.
func TestAKilledTraceIsReadable(t *testing.T) {
	needTrace(t)
	path := filepath.Join(t.TempDir(), "trace")
	command, _, _ := launch(t, "trace", "-o", path)
	deadline := time.Now().Add(20 * time.Second)
	for size := int64(0); size == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the trace is not there after 20 s")
		}
		time.Sleep(50 * time.Millisecond)
		if info, err := os.Stat(path); err == nil {
			size = info.Size()
		}
	}
	data := bpftest.File(t, 1009)
	if _, err := os.ReadFile(data); err != nil {
		t.Fatal(err)
	}
	for r := int64(0); r == 0; { // until it holds the I/Os of this process
		if time.Now().After(deadline) {
			t.Fatal("the I/Os are not in the trace after 20 s")
		}
		time.Sleep(50 * time.Millisecond)
		_, out, _ := runApp(t.Context(), nil, "trace", "-i", path, "--pid", fmt.Sprint(os.Getpid()), "--format", "csv")
		r = int64(strings.Count(out, data))
	}
	require.NoError(t, command.Process.Kill())
	_ = command.Wait() // killed
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	code, out, stderr := runApp(t.Context(), nil, "trace", "-i", path, "--summary", "--file", data)
	if code != 0 || !strings.Contains(out, "not closed cleanly") && !strings.Contains(out, "cannot be read from") {
		t.Errorf("code %d, %s%s", code, out, stderr)
	}
}

func TestBurstEndsWithAnInterrupt(t *testing.T) {
	needTrace(t)
	command, out, notes := launch(t, "burst", "60", "--format", "json")
	waitFor(t, notes, "looking for bursts")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	require.NoError(t, command.Wait())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last["disks"] == nil || last["owners"] == nil {
		t.Errorf("%v: %s", err, lines[len(lines)-1])
	}
}

// needTrace skips what a kernel without the probe cannot do.
func needTrace(t *testing.T) {
	t.Helper()
	p, _, err := trace.Open(host.Live(), trace.Options{})
	bpftest.Need(t, "bpf", err)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Intervals of a file hold each I/O once, and losses when they were known.
func TestATraceIsSummedUpByIntervals(t *testing.T) {
	path := recorded(t, 2500)
	for _, c := range []struct {
		args []string
		want string // label or length, and I/Os of the process that is steady
	}{
		{[]string{"1"}, "1500 I/Os in 1 s:1000 1500 I/Os in 1 s:1000 750 I/Os in 500 ms:500 in all, 2.5 s: 3750 I/Os in 2.5 s:2500"},
		{[]string{"1", "2"}, "1500 I/Os in 1 s:1000 1500 I/Os in 1 s:1000"},
		{[]string{"1", "9"}, "1500 I/Os in 1 s:1000 1500 I/Os in 1 s:1000 750 I/Os in 500 ms:500"},
		{[]string{"10"}, "3750 I/Os in 2.5 s:2500"},
		{nil, "3750 I/Os in 2.5 s:2500"},
	} {
		args := append([]string{"trace", "-i", path, "--summary", "--format", "json"}, c.args...)
		code, out, stderr := runApp(t.Context(), nil, args...)
		if code != 0 {
			t.Fatalf("%q: code %d: %s", args, code, stderr)
		}
		var got []string
		for line := range strings.Lines(out) {
			var v struct {
				Label     string
				Time      time.Time
				Processes struct {
					Rows  []map[string]any
					Notes []string
				}
				Disks struct{ Rows []map[string]any }
			}
			require.NoError(t, json.Unmarshal([]byte(line), &v))
			n := 0.0
			for _, r := range v.Processes.Rows {
				if r["comm"] == "steady" {
					n = r["ios"].(float64)
				}
			}
			got = append(got, fmt.Sprintf("%s:%.0f", v.Label, n))
			// bins count from the interval's start: none is idle
			if idle := v.Disks.Rows[0]["idle_ratio"]; idle != 0.0 {
				t.Errorf("%q: %s: idle %v of the time", args, v.Label, idle)
			}
			if want := time.Unix(1700000000, 0).Add(time.Duration(len(got)-1) * time.Second); len(got) < 4 && !v.Time.Equal(want) {
				t.Errorf("%q: %s begins at %v, want %v", args, v.Label, v.Time, want)
			}
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%q:\n%s, want\n%s", args, all, c.want)
		}
	}
	_, out, _ := runApp(t.Context(), nil, "trace", "-i", path, "1", "1", "--summary", "-t")
	if !strings.HasPrefix(out, time.Unix(1700000000, 0).Format("2006-01-02 15:04:05.000 -0700")+" 1 s 1500 I/Os in 1 s\n") {
		t.Errorf("no time above the tables: %.120q", out)
	}
	_, out, _ = runApp(t.Context(), nil, "trace", "-i", path, "1", "--summary", "--format", "csv")
	if n := strings.Count(out, "time,"); n != 1 {
		t.Errorf("%d heads in CSV:\n%s", n, out)
	}
}

// A live trace ends after so many intervals, each of its length.
func TestATraceEndsAfterIntervals(t *testing.T) {
	needTrace(t)
	code, out, stderr := runApp(t.Context(), nil, "trace", "0.2", "3", "--summary", "--format", "json")
	if n := strings.Count(out, "\n"); code != 0 || n != 3 || strings.Count(out, `"seconds":0.2`) != 3 {
		t.Errorf("code %d, %d lines: %s%s", code, n, out, stderr)
	}
}
