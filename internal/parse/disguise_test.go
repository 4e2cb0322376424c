package parse

import (
	"fmt"
	"strings"
	"testing"
)

// What stands around an output as it is pasted does not change what is read of
// it: quoting, indentation, the line ends of other systems, colours.
func TestDisguise(t *testing.T) {
	for file, plain := range fixtures(t) {
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
		fmt.Fprintf(&out, "%.6g ", v.Value) // sums over a map are not the same to the last digit
	}
	return out.String()
}

// A damaged line within an output is reported, and what follows it is read; a
// text behind the output does not continue it.
func TestDamagedWithin(t *testing.T) {
	const head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
	const row = " 1  0      0 4096 4096 4096 0 0 8 0 1 1 10 0 90 0 0\n"
	for _, c := range []struct {
		text                    string
		used, broken, intervals int
	}{
		{row + row + "x1  0 garbage\n" + row, 4, 1, 2},
		{row + row + "x1  0 garbage\n\n" + row, 3, 0, 1},
		{row + row + "see row 2 of it:\n" + row, 4, 1, 2},
		{row + row + "root@web1:~# echo 2\n" + row, 3, 0, 1},
		{row + row + "and that is all\n" + row, 3, 0, 1},
		{row + row + "x1\nx2\nx3\n" + row, 3, 0, 1},
	} {
		got, err := (&Reader{Tools: List()}).Read(t.Context(), "x", strings.NewReader(head+c.text))
		if err != nil || len(got.Blocks) != 1 {
			t.Fatalf("%q: %d outputs, %v", c.text, len(got.Blocks), err)
		}
		b := got.Blocks[0]
		if b.Used != c.used || b.Broken != c.broken || b.Intervals != c.intervals || got.Faulty != c.broken {
			t.Errorf("%q: %d used, %d broken, %d intervals, %v", c.text, b.Used, b.Broken, b.Intervals, got.Faults)
		}
		if c.broken > 0 && (len(got.Faults) != 1 || got.Faults[0].Line != 5) {
			t.Errorf("%q: the faults are %v, want one of line 5", c.text, got.Faults)
		}
		if b.Used+b.Skipped+b.Broken+got.Outside != got.Lines {
			t.Errorf("%q: %d lines, of which %d + %d + %d + %d are accounted for", c.text, got.Lines, b.Used, b.Skipped, b.Broken, got.Outside)
		}
	}
}
