package cli

import (
	"io"
	"os"

	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/present/jsondoc"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// printReport writes the report: as JSON, or for people the first screen, or the
// whole.
func printReport(out io.Writer, r *diagnose.Report, format string, whole bool) error {
	if format == "json" {
		return writeJSON(out, r)
	}
	style := console.Style(out, os.Getenv, console.WidestText)
	style.Whole = whole
	return text.Write(out, r, style)
}

// writeTable writes a table for people, as wide as the terminal.
func writeTable(out io.Writer, t *table.Table) error {
	return text.WriteTable(out, t, console.Style(out, os.Getenv, console.WidestTable))
}

// writeTables writes several.
func writeTables(out io.Writer, all []table.Table) error {
	return text.WriteTables(out, all, console.Style(out, os.Getenv, console.WidestTable))
}

// writeJSON writes one indented document.
func writeJSON(w io.Writer, v any) error { return jsondoc.Write(w, v) }

// writeJSONLine writes one document on one line.
func writeJSONLine(w io.Writer, v any) error { return jsondoc.WriteLine(w, v) }
