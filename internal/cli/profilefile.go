package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"iocause/internal/present/folded"
	"iocause/internal/present/html"
	"iocause/internal/present/pprof"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/store/whole"
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

// checkOutput refuses names whose form cannot be told, before time is spent,
// and places that cannot be written.
func checkOutput(name string) error {
	if name == "" || name == "-" {
		return nil
	}
	if writerOf(name) == nil {
		return &usageError{fmt.Errorf("reading --output: %q does not end in a form that is known", name),
			"end it in .html, .svg, .pb.gz or .folded, or give - for folded text"}
	}
	if dir := filepath.Dir(name); !isDirectory(dir) {
		return &usageError{fmt.Errorf("reading --output: %q is no directory", dir), "make it, or choose another"}
	}
	return nil
}

func isDirectory(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// writeProfile writes a profile to a file, or folded to standard output. The
// file appears whole or not at all.
func writeProfile(s streams, p *sample.Profile, name string) error {
	write := writerOf(name)
	for _, note := range p.Notes {
		fmt.Fprintln(s.stderr, "iocause: "+text.Escape(note))
	}
	if name == "-" {
		return write(s.stdout, p)
	}
	if err := whole.Shown(name, func(w io.Writer) error { return write(w, p) }); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fmt.Fprintf(s.stderr, "iocause: wrote %s: %s, %s in all\n", text.Escape(name), sample.Counted(len(p.Stacks), "stack"), weight(p))
	return nil
}
