package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/host"
)

const perfText = "sh 1 2.0: 250000 cpu-clock: \n\t1f f+0x1 ([kernel.kallsyms])\n\t2 a b (/m)\n\nnonsense\n"

func runFlame(t *testing.T, stdin string, code int, args ...string) (out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &env{streams: streams{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr}, host: host.Live()}
	if got := runLine(t.Context(), a, append([]string{"flame"}, args...)); got != code {
		t.Fatalf("%q: code %d, want %d: %s", args, got, code, &stderr)
	}
	return stdout.String(), stderr.String()
}

func TestFlameReadsPerfScript(t *testing.T) {
	out, notes := runFlame(t, perfText, 0, "-", "--format", "folded")
	if out != "sh;a b;f 250000\n" {
		t.Errorf("%q", out)
	}
	for _, want := range []string{"-:5: no sample and no function: \"nonsense\"\n", "-: 4 lines used, 0 skipped, 1 not understood\n"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
	if out, _ := runFlame(t, perfText, 0, "-", "-o", "-"); out != "sh;a b;f_[k] 1\n" {
		t.Errorf("%q", out)
	}
}

func TestFlameComparesTwoTexts(t *testing.T) {
	dir := t.TempDir()
	before, after, page := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "d.html")
	faults := filepath.Join(dir, "c")
	for name, text := range map[string]string{
		before: perfText, after: strings.Replace(perfText, "250000", "750000", 1),
		faults: strings.Replace(perfText, "cpu-clock", "faults", 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, notes := runFlame(t, "", 0, before, after, "-o", page)
	if !strings.Contains(notes, "250 us before, 750 us after") {
		t.Errorf("%q", notes)
	}
	if _, notes = runFlame(t, "", 1, before, faults, "-o", page); !strings.Contains(notes, "one is time, the other faults") {
		t.Errorf("%q", notes)
	}
	svg := filepath.Join(dir, "c.svg")
	if _, notes = runFlame(t, "", 0, faults, "-o", svg); !strings.Contains(notes, "1 stack, 250000 faults in all") {
		t.Errorf("%q", notes)
	}
	text, err := os.ReadFile(svg)
	if err != nil || !strings.Contains(string(text), "f: 250000 faults, 100.0 %") {
		t.Errorf("%v: %s", err, text)
	}
}

// Stacks of BPF tools are told from other texts, and a profile that was written
// from them draws the same.
func TestFlameReadsOthers(t *testing.T) {
	const stacks = "    schedule\n    read_it\n    -                dd (12)\n        1500\n\n    f\n    g\n"
	out, notes := runFlame(t, stacks, 0, "-", "--format", "folded")
	if out != "dd;read_it;schedule 1500\n" || !strings.Contains(notes, "-: 4 lines used, 3 skipped, 0 not understood") {
		t.Errorf("%q, %q", out, notes)
	}
	file := filepath.Join(t.TempDir(), "a.pb.gz")
	runFlame(t, stacks, 0, "-", "-o", file)
	if out, _ = runFlame(t, "", 0, file, "-o", "-"); out != "dd;read_it;schedule 1500\n" {
		t.Errorf("%q", out)
	}
	if _, notes = runFlame(t, "", 1, file, "--event", "cpu"); !strings.Contains(notes, `it has no value "cpu"; it has waits, time`) {
		t.Errorf("%q", notes)
	}
}
