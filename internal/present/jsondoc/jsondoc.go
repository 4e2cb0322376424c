// Package jsondoc writes JSON that a terminal cannot obey.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// Write writes one indented document.
func Write(w io.Writer, v any) error { return encode(w, v, "  ") }

// WriteLine writes one document on one line.
func WriteLine(w io.Writer, v any) error { return encode(w, v, "") }

// encode writes one document and a newline. Characters that a terminal
// could obey or that would hide or reorder text are written as \u escapes,
// which any reader of JSON turns back.
func encode(w io.Writer, v any, indent string) error {
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
