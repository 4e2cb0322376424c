package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/lab/labtest"
	"iocause/internal/lab/result"
)

// A real run whose experiment has a check that must hold and one that cannot: both
// are shown and kept, and the run fails.
func TestLabRunChecks(t *testing.T) {
	labtest.Need(t, "root", "loop")
	dir := t.TempDir()
	file, out := filepath.Join(dir, "checked.yaml"), filepath.Join(dir, "out")
	const content = `title: checked
files: {f: 4M}
phases:
  - {name: cold, unwatched: true, drop: [f], loads: [{name: l, do: {kind: direct, path: "{f}", bs: 4k, count: 500}}]}
  - {name: warm, unwatched: true, loads: [{name: l, do: {kind: randread, path: "{f}", warm: true, bs: 4k, count: 10000}}]}
checks:
  - {phase: warm, against: cold, faster: "> 1", because: it is cached}
  - {phase: warm, against: cold, rate: "> 1e12"}
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, notes := run{args: []string{"lab", "run", file, "--scale=1", "--out", out}}.do(t)
	r, err := result.Read(out)
	if err != nil {
		t.Fatalf("%v: %s", err, notes)
	}
	if code != exitFailed || len(r.Checks) != 2 || !r.Checks[0].Holds || r.Checks[1].Holds || !r.Checks[1].Measured {
		t.Errorf("code %d: %+v", code, r.Checks)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	for _, text := range []string{stdout, string(page)} {
		for _, want := range []string{"What must hold on any machine", "warm as cold", "it is cached", "yes", "NO"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in %s", err, want, text[:min(len(text), 3000)])
			}
		}
	}
	if !strings.Contains(notes, "times as fast as cold by its rate, not > 1e+12") {
		t.Error(notes)
	}
	for line := range strings.Lines(stdout) {
		if len([]rune(line)) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}
