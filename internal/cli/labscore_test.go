package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/require"
	"iocause/scenarios"
)

func TestLabScoreList(t *testing.T) {
	files, err := scenarios.Files.ReadDir(".")
	out, notes, code := runLabTool(t, "", "score", "--list")
	rows := 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, " ") { // else a title goes on
			rows++
		}
	}
	if err != nil || code != 0 || rows != len(files)+1 {
		t.Errorf("code %d, %v: %s %s", code, err, out, notes)
	}
}

func TestLabScoreRefusals(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "bad"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bad", "scenario.yaml"), []byte("title: x\nwrong: y\n"), 0o600))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--repeat", "0"}, "from 1 to 100"},
		{[]string{"--floor", "1.5"}, "--floor: 1.5 is not a share; give 0 to 1"},
		{[]string{"--filter", "("}, "--filter"},
		{[]string{"--filter", "^nothing-like-it$"}, "--list"},
		{[]string{"--format", "xml"}, "text or json"},
		{[]string{"--scenarios", folder}, "bad/scenario.yaml:2: there is no field wrong"},
	} {
		if out, notes, code := runLabTool(t, "", append([]string{"score"}, c.args...)...); code != exitUsage || out != "" || !strings.Contains(notes, c.says) {
			t.Errorf("%v: code %d, %q, %q", c.args, code, out, notes)
		}
	}
}

// The right truth of a situation reaches the floor, and a lie about it does not.
func TestLabScoreForReal(t *testing.T) {
	if testing.Short() {
		t.Skip("the figures are looked at without -short")
	}
	bpftest.Root(t)
	// A limit holds on a machine that others keep busy, where a program that
	// computes may not get the processor that its scenario wants.
	const name = "cgroup-io-throttle-iops"
	if lacks := lab.Lacks(host.Live(), "blkio"); lacks != "" {
		bpftest.Need(t, "cgroup", errors.New(lacks))
	}
	content, err := scenarios.Files.ReadFile(name + "/scenario.yaml")
	require.NoError(t, err)
	folder := t.TempDir()
	for from, to := range map[string]string{"data: 1G": "data: 64M", "observe: {": "observe: {duration: 2s, "} { // which read 5 MB
		content = bytes.Replace(content, []byte(from), []byte(to), 1)
	}
	lie := strings.Replace(string(content), "primary: [cgroup-io-throttle]", "primary: [swap-thrash]", 1)
	for as, content := range map[string]string{"truth": string(content), "lie": lie} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, as), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, as, "scenario.yaml"), []byte(content), 0o600))
	}
	var code int
	var out, notes string
	var x lab.Score
	for try := 1; ; try++ { // others may use the machine
		code, out, notes = run{args: []string{"lab", "score", "--scenarios", folder, "--format", "json", "--floor", "0.75"}}.do(t)
		x = lab.Score{}
		if err := json.Unmarshal([]byte(out), &x); err != nil || len(x.Runs) != 2 {
			t.Fatalf("%v: %s %s", err, out, notes)
		}
		if x.Tally.Primary.Of == 2 {
			break
		}
		if try == 4 {
			t.Fatalf("the situation did not come about: %q, %q", x.Runs[0].Unreal, x.Runs[1].Unreal)
		}
	}
	if lie, truth := &x.Runs[0], &x.Runs[1]; lie.Right() || !truth.Right() || len(truth.Culprit) > 0 || x.Tally.Culprits.Part != 2 {
		t.Errorf("%s", out)
	}
	if !strings.Contains(notes, "2 of 2: truth (1 of 1 not right so far; lie: WRONG, primary is cgroup-io-throttle, not swap-thrash)") {
		t.Errorf("while it runs: %s", notes)
	}
	if code != exitFailed || !strings.Contains(notes, "50.0 % of the primary causes are right, less than 75.0 %") {
		t.Errorf("code %d: %s", code, notes)
	}
}
