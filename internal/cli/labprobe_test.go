package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/require"
)

func TestLabProbe(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	require.NoError(t, os.WriteFile(kept, []byte("untouched"), 0o600))
	args := []string{"probe", dir, "--size=4M", "--duration=50ms", "--bs=4k,1M", "--depth=1,2", "--format=json"}
	out, notes, code := runLabTool(t, "yes\n", args...)
	var got struct {
		Size  int64 `json:"size_bytes"`
		Steps struct {
			Rows []map[string]any `json:"rows"`
		} `json:"steps"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("code %d, %v: %s %s", code, err, out, notes)
	}
	if got.Size != 4<<20 || len(got.Steps.Rows) != 2*2*2*3 {
		t.Errorf("%d bytes, %d steps", got.Size, len(got.Steps.Rows))
	}
	for _, row := range got.Steps.Rows {
		rate, isNumber := row["requests_per_s"].(float64)
		bytes, _ := row["bytes_per_s"].(float64)
		if row["mode"] == "direct" && !isNumber {
			continue // a file system without O_DIRECT; the note says so
		}
		if block := row["block_bytes"].(float64); !isNumber || rate <= 0 || bytes < rate*block*0.999 || bytes > rate*block*1.001 {
			t.Errorf("%v", row)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "untouched" {
		t.Errorf("the file that was there: %q, %v", b, err)
	}
	out, _, code = runLabTool(t, "", append(args[:len(args)-1], "--yes")...)
	if code != 0 || !strings.Contains(out, "sequential read") {
		t.Errorf("code %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestLabProbeRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		stdin string
		args  []string
		says  string
	}{
		{"", []string{dir}, "not confirmed"},
		{"no\n", []string{dir}, "not confirmed"},
		{"", []string{file}, "neither"},
		{"", []string{dir, "--write"}, "it is for devices"},
		{"", []string{dir, "--bs=5"}, "512"},
		{"", []string{dir, "--bs=1M", "--size=4k"}, "does not fit"},
		{"", []string{dir, "--depth=0"}, "from 1 to 256"},
		{"", []string{dir, "--duration=1ms"}, "50ms"},
		{"", []string{dir, "--size=1000T"}, "more than half"},
	} {
		out, notes, code := runLabTool(t, c.stdin, append([]string{"probe"}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(notes, c.says) {
			t.Errorf("%v: code %d, %q, %q", c.args, code, out, notes)
		}
	}
}
