// Package output writes what is drawn and exported to files: the form follows from
// the end of the name, and nothing but an earlier file of ours is replaced.
package output

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/present/folded"
	"iocause/internal/present/html"
	"iocause/internal/present/pprof"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// A form is how a profile is written, and how a file begins that was written so.
type form struct {
	write func(io.Writer, *sample.Profile) error
	ours  func(first []byte) bool
}

// forms are those of a profile, by the end of the file's name.
func forms() map[string]form {
	return map[string]form{
		".html":   {html.Write, func(first []byte) bool { return isPage(first, html.ReportMark) }},
		".svg":    {html.WriteSVG, func(first []byte) bool { return bytes.HasPrefix(first, []byte(html.SVGMark)) }},
		".pb.gz":  {pprof.Write, pprof.IsOurs},
		".folded": {folded.Write, folded.Is},
	}
}

// formOf is the form that a file's name asks for, and whether it asks for one.
func formOf(name string) (form, bool) {
	if name == "-" {
		name = ".folded"
	}
	for end, f := range forms() {
		if strings.HasSuffix(name, end) {
			return f, true
		}
	}
	return form{}, false
}

// CheckProfile refuses, before time is spent, names whose form cannot be told, places
// that cannot be written, and files that are no earlier ones of that form.
func CheckProfile(name string) error {
	if name == "" || name == "-" {
		return nil
	}
	f, ok := formOf(name)
	if !ok {
		return &ask.Error{Err: fmt.Errorf("reading --output: %q does not end in a known format", name),
			Next: "end it in .html, .svg, .pb.gz or .folded, or give - for folded text"}
	}
	if dir := filepath.Dir(name); !console.IsDirectory(dir) {
		return &ask.Error{Err: fmt.Errorf("reading --output: %q is not a directory", dir), Next: "create it, or choose another"}
	}
	return free(name, "a profile", f.ours)
}

// Profile writes a profile to a file, or folded to standard output. The
// file appears whole or not at all.
func Profile(stdout, notes io.Writer, p *sample.Profile, name string) error {
	f, _ := formOf(name)
	for _, note := range p.Notes {
		fmt.Fprintln(notes, "iocause: "+text.Escape(note))
	}
	if name == "-" {
		return f.write(stdout, p)
	}
	if err := save(name, func(w io.Writer) error { return f.write(w, p) }); err != nil {
		return err
	}
	fmt.Fprintf(notes, "iocause: wrote %s: %s, %s in all\n", text.Escape(name), sample.Counted(len(p.Stacks), "stack"), Weight(p))
	return nil
}

// Changes writes what changed between two profiles as a page.
func Changes(name string, after, before *sample.Profile) error {
	return save(name, func(w io.Writer) error { return html.WriteDiff(w, after, before) })
}

// Weight is what all stacks weigh together, for people.
func Weight(p *sample.Profile) string {
	if p.Unit == "" {
		return table.Duration(p.Total().Seconds())
	}
	var sum int64
	for i := range p.Stacks {
		sum += p.Weight(&p.Stacks[i])
	}
	return fmt.Sprintf("%d %s", sum, text.Escape(p.Unit))
}
