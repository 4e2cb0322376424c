package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/require"
)

func TestLabFio(t *testing.T) {
	peer(t, "fio", "fio")
	dir := t.TempDir()
	job := filepath.Join(dir, "x.fio")
	require.NoError(t, os.WriteFile(job, []byte("[one]\ndirectory="+dir+"\nsize=1M\nbs=4k\nrw=randread\n"), 0o600))
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
}

// A fio that fails before it makes a request leaves nothing to judge: that all is
// well would be no answer.
func TestLabFioThatFailsIsNotHealthy(t *testing.T) {
	peer(t, "fio", "fio")
	dir := t.TempDir()
	job := filepath.Join(dir, "x.fio")
	for name, c := range map[string]struct{ job, says string }{
		"a value that is none":   {"[one]\nrw=sideways\n", "failed parsing rw=sideways"},
		"an option that is none": {"[one]\nrw=read\nsize=1M\nfaster=1\n", "Bad option <faster=1>"},
		"a file that is missing": {"[one]\nrw=read\nsize=1M\nallow_file_create=0\nfilename=" + dir + "/none\n", "file creation disallowed"},
	} {
		require.NoError(t, os.WriteFile(job, []byte(c.job), 0o600))
		for _, flag := range []string{"--no-diagnose", "--no-diagnose=false", "--format=json"} {
			out, notes, code := runLabTool(t, "", "fio", job, flag, "--", "--aux-path="+dir)
			last := notes[strings.LastIndex(strings.TrimSpace(notes), "\n")+1:]
			if code != exitFailed || out != "" || !strings.Contains(last, "exit code 1 and made no requests") || !strings.Contains(last, c.says) {
				t.Errorf("%s, %s: code %d: %q %q", name, flag, code, out, notes)
			}
		}
	}
	// One job's failure does not hide what the other did.
	both := "[one]\nrw=read\nsize=1M\n[two]\nrw=read\nsize=1M\nallow_file_create=0\nfilename=" + dir + "/none\n"
	require.NoError(t, os.WriteFile(job, []byte(both), 0o600))
	out, notes, code := runLabTool(t, "", "fio", job, "--no-diagnose", "--", "--directory="+dir)
	if code != exitFailed || !strings.Contains(out, "one read ") || !strings.Contains(out, "job two made no requests") || !strings.Contains(notes, "ended with exit code 1: ") {
		t.Errorf("one of two jobs: code %d: %q %q", code, out, notes)
	}
}

func TestLabFioIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, notes, code := runLabTool(t, "", "fio", "x.fio"); code != exitFailed || !strings.Contains(notes, "apt install fio") {
		t.Errorf("code %d: %s", code, notes)
	}
}
