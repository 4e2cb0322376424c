package text

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What stands around an output as it is pasted does not change what is read of
// it: quoting, indentation, the line ends of other systems, colours.
func TestDisguise(t *testing.T) {
	files, err := filepath.Glob("*/testdata/*.txt")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d fixtures: %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plain := string(b)
		want := shape(t, plain)
		if strings.Contains(plain, "\r") {
			continue
		}
		for name, disguise := range map[string]func(string) string{
			"quoted":  func(s string) string { return "> " + s },
			"twice":   func(s string) string { return ">> " + s },
			"indent":  func(s string) string { return "    " + s },
			"windows": func(s string) string { return s + "\r" },
			"colours": func(s string) string { return "\x1b[1;32m" + s + "\x1b[0m" },
		} {
			rows := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
			for i, s := range rows {
				rows[i] = disguise(s)
			}
			if got := shape(t, strings.Join(rows, "\n")+"\n"); got != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", file, name, got, want)
			}
		}
	}
}

// shape is what was read of a text, output by output.
func shape(t *testing.T, s string) string {
	t.Helper()
	got, err := (&Reader{Tools: List()}).Read(t.Context(), "x", strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, b := range got.Blocks {
		fmt.Fprintf(&out, "%s %d-%d: %d intervals, lines %d %d %d, %d series, %d histograms\n", b.Tool, b.First, b.Last, b.Intervals, b.Used, b.Skipped, b.Broken, len(b.series), len(b.hists))
	}
	for v := range Values([]*Text{got}) {
		fmt.Fprintf(&out, "%v ", v.Value)
	}
	return out.String()
}
