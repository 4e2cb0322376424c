package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLabFio(t *testing.T) {
	peer(t, "fio", "fio")
	dir := t.TempDir()
	job := filepath.Join(dir, "x.fio")
	if err := os.WriteFile(job, []byte("[one]\ndirectory="+dir+"\nsize=1M\nbs=4k\nrw=randread\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, notes, code := runLabTool(t, "", "fio", job, "--no-diagnose", "--format=json", "--", "--aux-path="+dir)
	var got struct {
		Jobs struct {
			Rows []map[string]any `json:"rows"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Jobs.Rows) != 1 {
		t.Fatalf("code %d, %v: %s %s", code, err, out, notes)
	}
	if row := got.Jobs.Rows[0]; row["job"] != "one" || row["direction"] != "read" || row["submit_mean_seconds"] != nil || row["complete_p99_seconds"] == nil {
		t.Errorf("%v", row)
	}
	out, notes, code = runLabTool(t, "", "fio", job) // no source is open: nothing can be told, but it is said
	if code != 0 || !strings.Contains(out, "jobs of fio-") {
		t.Errorf("code %d: %s %s", code, out, notes)
	}
	if err := os.WriteFile(job, []byte("[one]\nrw=sideways\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, notes, code = runLabTool(t, "", "fio", job, "--no-diagnose"); code != exitFailed || out != "" || !strings.Contains(notes, "exit code 1") {
		t.Errorf("a bad job: code %d: %s %s", code, out, notes)
	}
}

func TestLabFioIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, notes, code := runLabTool(t, "", "fio", "x.fio"); code != exitFailed || !strings.Contains(notes, "apt install fio") {
		t.Errorf("code %d: %s", code, notes)
	}
}
