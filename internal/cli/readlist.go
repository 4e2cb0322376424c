package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"

	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/tool/read"
)

// printSeries exports every value that was read.
func printSeries(out io.Writer, texts []*parse.Text, o *readOptions) error {
	if o.format == "json" {
		for v := range parse.Values(texts) {
			if err := writeJSONLine(out, v); err != nil {
				return err
			}
		}
		return nil
	}
	w := csv.NewWriter(out)
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
func printList(out io.Writer, texts []*parse.Text, o *readOptions) error {
	if o.format == "json" {
		return writeJSON(out, read.NewDocument(texts, nil))
	}
	style := styleOf(out, os.Getenv, widestText)
	t := read.OutputsTable(texts)
	if len(t.Rows) == 0 {
		return read.Nothing(texts)
	}
	return text.WriteTable(out, t, style)
}
