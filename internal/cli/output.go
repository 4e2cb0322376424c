package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf16"

	"iocause/internal/diagnose"
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
func writeJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// writeJSONLine writes one document on one line.
func writeJSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

// encodeJSON writes one document and a newline. Characters that a terminal
// could obey or that would hide or reorder text are written as \u escapes,
// which any reader of JSON turns back.
func encodeJSON(w io.Writer, v any, indent string) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the output as JSON: %w", err)
	}
	var out bytes.Buffer
	for _, r := range raw.String() {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
