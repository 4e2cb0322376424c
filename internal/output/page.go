package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/picture"
	"iocause/internal/present/html"
	"iocause/internal/present/text"
	"iocause/internal/store/whole"
)

// CheckPage refuses, before time is spent, a name that no page can be written to:
// nothing but an earlier page of ours is replaced.
func CheckPage(stdout any, name string) error {
	if name == "-" {
		if _, terminal := console.Width(stdout); terminal {
			return &ask.Error{Err: errors.New("writing the page: standard output is a terminal"), Next: "give a file with -o, or pipe it into another program"}
		}
		return nil
	}
	if end := strings.ToLower(filepath.Ext(name)); end != ".html" && end != ".htm" {
		return &ask.Error{Err: fmt.Errorf("reading --output: a report is a page, which %q is not", name), Next: "give a name that ends in .html"}
	}
	if dir := filepath.Dir(name); !console.IsDirectory(dir) {
		return &ask.Error{Err: fmt.Errorf("reading --output: %q is not a directory", dir), Next: "create it, or choose another"}
	}
	return free(name, "a report", func(first []byte) bool {
		return isPage(first, html.DossierMark) || isPage(first, html.ReportMark)
	})
}

// isPage tells whether a page begins with a mark of ours.
func isPage(first []byte, mark string) bool {
	return bytes.Contains(first[:min(len(first), 1024)], []byte(mark))
}

// Page writes a page that nobody else may read.
func Page(stdout, notes io.Writer, name string, page *picture.Page) error {
	return private(stdout, notes, name, func(w io.Writer) error { return html.WriteDossier(w, page) })
}

// Report writes a page of tables and charts likewise.
func Report(stdout, notes io.Writer, name string, page *html.Report) error {
	return private(stdout, notes, name, func(w io.Writer) error { return html.WriteReport(w, page) })
}

func private(stdout, notes io.Writer, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	if err := save(name, write); err != nil {
		return err
	}
	fmt.Fprintf(notes, "iocause: wrote %s; open it in a browser. It holds names of hosts, processes, files or cgroups\n", text.Escape(name))
	return nil
}

// save writes a file that nobody else may read: it holds names.
func save(name string, write func(io.Writer) error) error {
	const mode = 0o600
	if err := whole.Write(name, mode, write); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
