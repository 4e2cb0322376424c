package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/host"
	"iocause/internal/lab/load"
)

func runLab(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	c := newLabCommand(&env{streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &notes}, host: host.Live()})
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&notes)
	c.SilenceUsage = true
	err = c.ExecuteContext(context.Background())
	return out.String(), err
}

func TestLabLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	out, err := runLab(t, "load", "randread", "--path", path, "--size=1M", "--bs=8k", "--count=97", "--threads=2", "--format=json")
	if err != nil {
		t.Fatal(err)
	}
	var r load.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Calls != 97 || r.Accesses != 194 {
		t.Errorf("%s: %v", out, err)
	}
	out, err = runLab(t, "load", "read", "--path", path)
	if err != nil || !strings.HasPrefix(out, "read: 8 calls, 1.0 MiB") {
		t.Errorf("%s: %v", out, err)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestLabLoadRefusals(t *testing.T) {
	for _, args := range [][]string{
		{"load"},
		{"load", "nonsense"},
		{"load", "read"},
		{"load", "spin", "--count=1", "--format=xml"},
		{"load", "spin", "--count=1", "--order=sideways"},
	} {
		if _, err := runLab(t, args...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
