package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/lab/result"
	"iocause/internal/require"
)

// tinyExperiment reads a file on a loop device of its own, with a read-ahead.
func tinyExperiment(t *testing.T, readAhead, load string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tiny.yaml")
	content := fmt.Sprintf(`title: tiny
requires: [root, loop]
setup:
  - loop: {name: disk, size: 64M, filesystem: ext4, read_ahead: %s}
phases:
  - name: one
    duration: 30s
    loads: [{name: l, do: {kind: read, path: "{disk}/f", size: 32M, bs: 4k, %s}}]
`, readAhead, load)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// Two real runs differ in the read-ahead of their loop device and nothing
// else: that is named.
func TestLabCompareNamesTheSetting(t *testing.T) {
	labtest.Need(t, "root", "loop")
	dirs := map[string]string{}
	for _, readAhead := range []string{"4k", "1M"} {
		dirs[readAhead] = filepath.Join(t.TempDir(), "out")
		code, _, notes := run{args: []string{"lab", "run", tinyExperiment(t, readAhead, "drop: true, passes: 1"), "--scale=1", "--repeat=3", "--out", dirs[readAhead]}}.do(t)
		if code != 0 {
			t.Fatalf("code %d: %s", code, notes)
		}
	}
	code, out, notes := run{args: []string{"lab", "compare", dirs["1M"], dirs["4k"], "--format=json"}}.do(t)
	var r result.Comparison
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("code %d, %v: %s", code, err, notes)
	}
	want := host.Difference{Setting: "devices[lab:disk].read_ahead_bytes", A: "1048576", B: "4096"}
	found := false
	for _, d := range r.Differences {
		found = found || d == want
	}
	if !found || len(r.Findings) != 1 || r.Findings[0].Cause != "host-difference" || !strings.Contains(fmt.Sprint(r.Findings[0].Advice), want.Setting) {
		t.Errorf("%s", out)
	}
	page := filepath.Join(t.TempDir(), "c.html")
	code, out, notes = run{args: []string{"lab", "compare", dirs["1M"], dirs["4k"], "-o", page}}.do(t)
	b, err := os.ReadFile(page)
	if code != 0 || out != "" || err != nil || !strings.Contains(string(b), want.Setting) || !strings.Contains(string(b), "one, l: rate</text>") {
		t.Errorf("the page: code %d, %v: %s %s", code, err, out, notes)
	}
	code, out, _ = run{args: []string{"lab", "compare", dirs["4k"], dirs["4k"]}}.do(t)
	if code != 0 || !strings.Contains(out, "host-difference: cannot tell") {
		t.Errorf("a run beside itself: code %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

// What was measured before Ctrl-C is kept: it may have taken hours.
func TestLabRunKeepsWhatItHasOnInterrupt(t *testing.T) {
	labtest.Need(t, "root", "loop")
	out := filepath.Join(t.TempDir(), "out")
	c, _, notes := run{args: []string{"lab", "run", tinyExperiment(t, "4k", "duration: 20s"), "--scale=1", "--out", out}}.command(t)
	require.NoError(t, c.Start())
	begun := func() bool { // the load's file is there, whole
		files, _ := filepath.Glob(fmt.Sprintf("/var/tmp/%s%d-*/disk/f", lab.Prefix, c.Process.Pid))
		if len(files) == 0 {
			return false
		}
		info, err := os.Stat(files[0])
		return err == nil && info.Size() == 32<<20
	}
	for end := time.Now().Add(20 * time.Second); !begun() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(700 * time.Millisecond) // some windows
	_ = c.Process.Signal(os.Interrupt)
	err := c.Wait()
	r, readErr := result.Read(out)
	if err == nil || readErr != nil || len(r.Phases) != 1 || r.Phases[0].Loads["l"].Calls == 0 || r.Ended == "" {
		t.Fatalf("%v, %v: %+v: %s", err, readErr, r, notes)
	}
	b, err := os.ReadFile(filepath.Join(out, "series.csv"))
	if err != nil || strings.Count(string(b), "one,1,load l,calls,") < 2 || !strings.Contains(string(b), "one,1,disk disk,busy,ratio,/sys/block/loop") {
		t.Errorf("%v: the series is %d bytes", err, len(b))
	}
}
