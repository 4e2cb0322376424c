package cli

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"

	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// printSeries exports every value that was read.
func (a *app) printSeries(texts []*parse.Text, o *readOptions) error {
	if o.format == "json" {
		for v := range parse.Values(texts) {
			if err := writeJSONLine(a.stdout, v); err != nil {
				return err
			}
		}
		return nil
	}
	w := csv.NewWriter(a.stdout)
	if err := w.Write([]string{"file", "lines", "tool", "seconds", "metric", "unit", "device", "pid", "class", "value"}); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	for v := range parse.Values(texts) {
		pid := ""
		if v.PID != 0 {
			pid = strconv.Itoa(v.PID)
		}
		if err := w.Write([]string{v.File, v.Lines, v.Tool, number(v.Seconds), string(v.Metric), string(v.Unit), v.Device, pid, v.Class, number(v.Value)}); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// printList shows what was recognised.
func (a *app) printList(texts []*parse.Text, o *readOptions) error {
	if o.format == "json" {
		return writeJSON(a.stdout, readDocument(texts, nil))
	}
	style := styleOf(a.stdout, os.Getenv, widestText)
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
				table.Str(b.Tool), table.Str(b.File), table.Str(strings.TrimPrefix(place(b), b.File+":")), table.Num(float64(b.Intervals)),
				table.Num(float64(b.Used)), table.Num(float64(b.Skipped)), table.Num(float64(b.Broken)), table.Str(remark),
			})
		}
		for _, f := range x.Faults {
			t.Notes = append(t.Notes, fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Tool, f.Why))
		}
	}
	if len(t.Rows) == 0 {
		return nothingRead(texts)
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%s, %d of no output", sample.Counted(lines, "line"), outside))
	return text.WriteTable(a.stdout, t, style)
}
