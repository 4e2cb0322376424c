package text

import (
	"bytes"
	"strings"
	"testing"

	"iocause/internal/table"
)

// A terminal of LC_ALL=C shows what is no ASCII as rubbish.
func TestASCIIHasNothingElse(t *testing.T) {
	if got := ASCII("a · b…  ▁▂▃▄▅▆▇█ Müller"); got != `a - b~  __.-=+*# M\u00fcller` {
		t.Errorf("got %q", got)
	}
	r := load(t, "testdata/hostile.json")
	var out bytes.Buffer
	for _, whole := range []bool{true, false} {
		if err := Write(&out, r, Style{ASCII: true, Whole: whole, Width: 80}); err != nil {
			t.Fatal(err)
		}
	}
	tab := &table.Table{Columns: []table.Column{{Key: "a", Head: "A", Flex: true}}, Rows: [][]table.Cell{{table.Str(strings.Repeat("é…", 60))}}}
	if err := WriteTable(&out, tab, Style{ASCII: true, Width: 80}); err != nil {
		t.Fatal(err)
	}
	lines := NewLines(&out, Style{ASCII: true, Width: 80}, []LineColumn{{Head: "A", Width: 8}, {Head: "B"}})
	if err := lines.Write([]string{"longer than eight", "é"}); err != nil {
		t.Fatal(err)
	}
	chart := &Chart{Title: "a · b", Unit: "ratio"}
	for i := range 24 {
		chart.Bars = append(chart.Bars, Bar{Label: "23", Lo: 0.2, Hi: 0.5, Value: float64(i) / 24})
	}
	if got := ASCII("▲ ▏ ›"); got != "^ | >" {
		t.Errorf("marks of the live screen: %q", got)
	}
	for _, line := range drawn(t, chart, Style{ASCII: true, Width: 80}) {
		if len(line) > 80 || strings.Contains(line, `\u`) {
			t.Errorf("a line of a chart: %q", line)
		}
		out.WriteString(line + "\n")
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.IndexFunc(line, func(r rune) bool { return r >= 0x80 }) >= 0 {
			t.Errorf("not ASCII: %q", line)
		}
	}
}
