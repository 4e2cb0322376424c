package cli

import (
	"io"
	"os"

	"iocause/internal/diagnose"
	"iocause/internal/present/jsondoc"
	"iocause/internal/present/text"
)

// printReport writes the report to standard output.
func printReport(out io.Writer, r *diagnose.Report, format string) error {
	if format == "json" {
		return writeJSON(out, r)
	}
	return text.Write(out, r, styleOf(out, os.Getenv, widestText))
}

// writeJSON writes one indented document.
func writeJSON(w io.Writer, v any) error { return jsondoc.Write(w, v) }

// writeJSONLine writes one document on one line.
func writeJSONLine(w io.Writer, v any) error { return jsondoc.WriteLine(w, v) }

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
