package show

import (
	"fmt"
	"io"

	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/sample"
)

// Faults says which lines of texts could not be read, the first ten of them, and what was
// left out.
func Faults(notes io.Writer, texts []*parse.Text) {
	const most = 10
	said, all := 0, 0
	for _, t := range texts {
		all += t.Faulty
		for _, f := range t.Faults {
			if said++; said <= most {
				fmt.Fprintf(notes, "%s:%d: %s: %s\n", text.Escape(f.File), f.Line, f.Tool, text.Escape(f.Why))
			}
		}
		if t.Long > 0 {
			fmt.Fprintf(notes, "iocause: %s of %s cut: too long\n", sample.Counted(t.Long, "line"), text.Escape(t.File))
		}
		if t.Left > 0 {
			fmt.Fprintf(notes, "iocause: %d more outputs in %s were left out; split the input\n", t.Left, text.Escape(t.File))
		}
	}
	if all > most {
		fmt.Fprintf(notes, "iocause: %d more lines could not be read; see --list\n", all-most)
	}
}
