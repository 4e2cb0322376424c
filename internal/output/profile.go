// Package output writes what is drawn and exported to files: the form follows from
// the end of the name, and nothing but an earlier file of ours is replaced.
package output

import (
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
	"iocause/internal/store/whole"
	"iocause/internal/table"
)

// writers are the forms of a profile, by the end of the file's name.
func writers() map[string]func(io.Writer, *sample.Profile) error {
	return map[string]func(io.Writer, *sample.Profile) error{
		".html":   html.Write,
		".svg":    html.WriteSVG,
		".pb.gz":  pprof.Write,
		".folded": folded.Write,
	}
}

// writerOf is the form that a file's name asks for.
func writerOf(name string) func(io.Writer, *sample.Profile) error {
	if name == "-" {
		return folded.Write
	}
	for end, w := range writers() {
		if strings.HasSuffix(name, end) {
			return w
		}
	}
	return nil
}

// CheckProfile refuses names whose form cannot be told, before time is spent,
// and places that cannot be written.
func CheckProfile(name string) error {
	if name == "" || name == "-" {
		return nil
	}
	if writerOf(name) == nil {
		return &ask.Error{Err: fmt.Errorf("reading --output: %q does not end in a known format", name),
			Next: "end it in .html, .svg, .pb.gz or .folded, or give - for folded text"}
	}
	if dir := filepath.Dir(name); !console.IsDirectory(dir) {
		return &ask.Error{Err: fmt.Errorf("reading --output: %q is not a directory", dir), Next: "create it, or choose another"}
	}
	return nil
}

// Profile writes a profile to a file, or folded to standard output. The
// file appears whole or not at all.
func Profile(stdout, notes io.Writer, p *sample.Profile, name string) error {
	write := writerOf(name)
	for _, note := range p.Notes {
		fmt.Fprintln(notes, "iocause: "+text.Escape(note))
	}
	if name == "-" {
		return write(stdout, p)
	}
	if err := whole.Shown(name, func(w io.Writer) error { return write(w, p) }); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fmt.Fprintf(notes, "iocause: wrote %s: %s, %s in all\n", text.Escape(name), sample.Counted(len(p.Stacks), "stack"), Weight(p))
	return nil
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
