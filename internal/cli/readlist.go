package cli

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"

	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/tool/read"
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
		return writeJSON(a.stdout, read.NewDocument(texts, nil))
	}
	style := styleOf(a.stdout, os.Getenv, widestText)
	t := read.OutputsTable(texts)
	if len(t.Rows) == 0 {
		return read.Nothing(texts)
	}
	return text.WriteTable(a.stdout, t, style)
}
