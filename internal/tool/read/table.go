package read

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// OutputsTable shows what was recognised; it has no rows where nothing was.
func OutputsTable(texts []*parse.Text) *table.Table {
	t := &table.Table{Key: "outputs", Columns: []table.Column{
		{Key: "tool", Head: "TOOL"}, {Key: "file", Head: "FILE", Flex: true}, {Key: "lines", Head: "LINES"},
		{Key: "intervals", Head: "INTERVALS", Unit: "count"}, {Key: "used", Head: "USED", Unit: "count"},
		{Key: "skipped", Head: "SKIPPED", Unit: "count"}, {Key: "broken", Head: "NOT UNDERSTOOD", Unit: "count"},
		{Key: "remark", Head: "REMARK"},
	}}
	lines, outside := 0, 0
	for _, x := range texts {
		lines, outside = lines+x.Lines, outside+x.Outside
		for _, b := range x.Blocks {
			remark := ""
			if b.Repeats > 0 {
				remark = fmt.Sprintf("as line %d", b.Repeats)
			}
			t.Rows = append(t.Rows, []table.Cell{
				table.Str(b.Tool), table.Str(b.File), table.Str(b.Lines()), table.Num(float64(b.Intervals)),
				table.Num(float64(b.Used)), table.Num(float64(b.Skipped)), table.Num(float64(b.Broken)), table.Str(remark),
			})
		}
		for _, f := range x.Faults {
			t.Notes = append(t.Notes, fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Tool, f.Why))
		}
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%s, %d of no output", sample.Counted(lines, "line"), outside))
	return t
}

// FiguresTable shows the figures of a case.
func (c *Case) FiguresTable() *table.Table {
	t := &table.Table{Key: "figures", Title: "What the text shows", Columns: []table.Column{
		{Key: "figure", Head: "FIGURE"}, {Key: "value", Head: "VALUE"}, {Key: "source", Head: "WHERE"},
	}}
	for _, f := range c.Figures() {
		t.Rows = append(t.Rows, []table.Cell{table.Str(f.Name), table.Str(table.Value(f.Value, f.Unit)), table.Str(f.Source)})
	}
	return t
}

// CasesTable shows cases side by side.
func CasesTable(all []Case) *table.Table {
	t := &table.Table{Key: "cases", Title: fmt.Sprintf("CASES: %d", len(all)), Columns: []table.Column{
		{Key: "case", Head: "#"}, {Key: "lines", Head: "LINES"}, {Key: "tools", Head: "TOOLS", Drop: 3}, {Key: "finding", Head: "FINDING"},
		{Key: "confidence", Head: "CONF", Drop: 2},
		{Key: "hit_ratio", Head: "HITS", Unit: "ratio"}, {Key: "call", Head: "CALL", Unit: "seconds"},
		{Key: "read_rate", Head: "READ/s", Unit: "bytes", Drop: 1}, {Key: "in_flight", Head: "DEPTH", Unit: "count"},
	}}
	for i := range all {
		c := &all[i]
		by := map[string]Figure{}
		for _, f := range c.Figures() {
			if _, ok := by[f.Key]; !ok {
				by[f.Key] = f
			}
		}
		get := func(keys ...string) table.Cell {
			for _, k := range keys {
				if f, ok := by[k]; ok {
					return table.Num(f.Value)
				}
			}
			return table.None()
		}
		var tools []string
		for _, b := range c.Blocks {
			if !slices.Contains(tools, b.Tool) {
				tools = append(tools, b.Tool)
			}
		}
		conf := table.None()
		if len(c.Report.Findings) > 0 {
			conf = table.Str(fmt.Sprintf("%.0f %%", 100*c.Report.Findings[0].Confidence))
		}
		t.Rows = append(t.Rows, []table.Cell{
			table.Str(strconv.Itoa(i + 1)), table.Str(fmt.Sprintf("%d-%d", c.Blocks[0].First, c.Blocks[len(c.Blocks)-1].Last)),
			table.Str(strings.Join(tools, " ")), table.Str(string(c.Report.Primary)), conf,
			get("hit_ratio"), get("call_read", "call_write"), get("read_rate"), get("in_flight"),
		})
	}
	return t
}

// DifferenceTable names the figures in which two cases differ most.
func DifferenceTable(first, last *Case) *table.Table {
	t := &table.Table{Key: "difference", Title: fmt.Sprintf("WHAT DIFFERS: %s, then %s", first.Report.Primary, last.Report.Primary), Columns: []table.Column{
		{Key: "figure", Head: "FIGURE"}, {Key: "first", Head: "FIRST"}, {Key: "last", Head: "LAST"},
	}}
	after := map[string]Figure{}
	for _, f := range last.Figures() {
		after[f.Key] = f
	}
	for _, f := range first.Figures() {
		l, ok := after[f.Key]
		if !ok || within(f.Value, l.Value) {
			continue
		}
		name := f.Name
		if l.Name != f.Name {
			name = l.Name
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(name), table.Str(table.Value(f.Value, f.Unit)), table.Str(table.Value(l.Value, l.Unit))})
	}
	return t
}

// within tells whether two figures are about the same.
func within(a, b float64) bool { return max(a, b) <= 1.25*min(a, b) }

// ValuesHead names the columns of Values.
func ValuesHead() []string {
	return []string{"file", "lines", "tool", "seconds", "metric", "unit", "device", "pid", "class", "value"}
}

// Values are all figures that were read, a row each.
func Values(texts []*parse.Text) iter.Seq[[]string] {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return func(yield func([]string) bool) {
		for v := range parse.Values(texts) {
			pid := ""
			if v.PID != 0 {
				pid = strconv.Itoa(v.PID)
			}
			if !yield([]string{v.File, v.Lines, v.Tool, number(v.Seconds), string(v.Metric), string(v.Unit), v.Device, pid, v.Class, number(v.Value)}) {
				return
			}
		}
	}
}
