package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/internal/present/html"
	"iocause/internal/present/text"
	"iocause/internal/report"
	"iocause/internal/sample"
	"iocause/internal/store/whole"
)

// checkReportFile refuses, before time is spent, a name that no page can be written to:
// nothing but an earlier page of ours is replaced.
func checkReportFile(stdout any, name string) error {
	if name == "-" {
		if _, terminal := console.Width(stdout); terminal {
			return &usageError{errors.New("writing the page: standard output is a terminal"), "give a file with -o, or lead it into a pipe"}
		}
		return nil
	}
	if end := strings.ToLower(filepath.Ext(name)); end != ".html" && end != ".htm" {
		return &usageError{fmt.Errorf("reading --output: a report is a page, %q is not", name), "give a name that ends in .html"}
	}
	if dir := filepath.Dir(name); !isDirectory(dir) {
		return &usageError{fmt.Errorf("reading --output: %q is no directory", dir), "make it, or choose another"}
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at what %s is now: %w; give another name", name, err)
	}
	defer f.Close()
	first := make([]byte, 1024)
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		n, _ := io.ReadFull(f, first)
		if n == 0 || bytes.Contains(first[:n], []byte(html.DossierMark)) {
			return nil
		}
	}
	return fmt.Errorf("making the page %q: it is there already, and no report of iocause; give another name", name)
}

// writePage writes a page that nobody else may read.
func writePage(e *env, name string, page *picture.Page) error {
	page.Program = programName()
	if name == "-" {
		return html.WriteDossier(e.stdout, page)
	}
	const private = 0o600
	if err := whole.Write(name, private, func(w io.Writer) error { return html.WriteDossier(w, page) }); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fmt.Fprintf(e.stderr, "iocause: wrote %s; open it in a browser. It holds names of processes, files and cgroups\n", text.Escape(name))
	return nil
}

// livePage is the page of what was just watched.
func livePage(e *env, r *diagnose.Report, w *sample.Window, course *picture.Course, asked string) *picture.Page {
	page := report.Looked(r, w, course)
	page.Of, page.Asked = "this machine", asked
	if name, err := os.ReadFile(e.host.Proc("sys", "kernel", "hostname")); err == nil {
		page.Host = strings.TrimSpace(string(name))
	}
	return page
}
