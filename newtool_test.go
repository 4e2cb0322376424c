package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/require"
)

// A new tool is its folder, a file with its flags, and one line of a list: nothing
// else of the house is touched for it. The test adds one that way, builds the
// program with it, and asks it.
func TestAToolIsAFolderAndALine(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	const list = "internal/cli/root.go"
	old, err := os.ReadFile(list)
	require.NoError(t, err)
	const before = "newThreadsCommand(e), "
	if strings.Count(string(old), before) != 1 {
		t.Fatalf("%s has not one %q", list, before)
	}
	listed := filepath.Join(dir, "root.go")
	require.NoError(t, os.WriteFile(listed, []byte(strings.Replace(string(old), before, before+"newUptimeCommand(e), ", 1)), 0o600))
	overlay := map[string]map[string]string{"Replace": {filepath.Join(here, list): listed}}
	for _, f := range []struct{ at, from string }{
		{"internal/tool/uptime/uptime.go", "testdata/newtool/uptime.go.txt"},
		{"internal/cli/uptime.go", "testdata/newtool/command.go.txt"},
	} {
		src, err := os.ReadFile(f.from)
		require.NoError(t, err)
		if found, err := violations(rooms(t), f.at, src); err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", f.at, found, err)
		}
		overlay["Replace"][filepath.Join(here, f.at)] = filepath.Join(here, f.from)
	}
	b, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), b, 0o600))
	binary := filepath.Join(dir, "iocause")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-ldflags", "-s -w", "-buildvcs=false", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(binary, "uptime", "--format", "json").CombinedOutput()
	var said struct {
		Uptime struct {
			Rows []struct {
				Seconds float64 `json:"up_seconds"`
			} `json:"rows"`
		} `json:"uptime"`
	}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil || len(said.Uptime.Rows) != 1 || said.Uptime.Rows[0].Seconds <= 0 {
		t.Errorf("%v: %s", err, out)
	}
	help, err := exec.Command(binary, "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(help), "Show how long the machine has been up") {
		t.Errorf("%v: %s", err, help)
	}
}
