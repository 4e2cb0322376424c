package cli

import (
	"fmt"
	"io"
	"os"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/show"
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
	return console.WriteCSV(out, read.ValuesHead(), read.Values(texts))
}

// printList shows what was recognised.
func printList(out io.Writer, texts []*parse.Text, o *readOptions) error {
	if o.format == "json" {
		return writeJSON(out, read.NewDocument(texts, nil))
	}
	style := console.Style(out, os.Getenv, console.WidestText)
	t := read.OutputsTable(texts)
	if len(t.Rows) == 0 {
		return read.Nothing(texts)
	}
	return text.WriteTable(out, t, style)
}

// printCases shows the findings.
func printCases(out io.Writer, texts []*parse.Text, all []read.Case, o *readOptions) error {
	if o.which > len(all) {
		return &ask.Error{Err: fmt.Errorf("reading --case: there is no case %d", o.which), Next: fmt.Sprintf("the text has %d", len(all))}
	}
	if o.format == "json" {
		return writeJSON(out, read.NewDocument(texts, show.Chosen(all, o.which)))
	}
	return show.Cases(out, all, o.which, console.Style(out, os.Getenv, console.WidestText))
}
