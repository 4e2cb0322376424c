package text

import (
	"fmt"
	"io"
	"strings"

	"iocause/internal/table"
)

// LineColumn is a column of Lines.
type LineColumn struct {
	Head  string
	Width int
	Right bool // numbers
}

// Lines writes aligned lines as they come. Widths do not depend on what comes
// later: a text that is too long is cut in its middle.
type Lines struct {
	Columns []LineColumn
	to      io.Writer
	line    []byte
	headed  bool
	ascii   bool
}

// NewLines makes lines as wide as the style says: what is left is given to the
// last column.
func NewLines(to io.Writer, s Style, columns []LineColumn) *Lines {
	l := &Lines{Columns: columns, to: to, ascii: s.ASCII}
	last := &l.Columns[len(l.Columns)-1]
	last.Width = 0
	last.Width = l.room(max(s.Width, 80)) + 1
	return l
}

// room is what one more column would have.
func (l *Lines) room(width int) int {
	used := len(l.Columns)
	for _, c := range l.Columns {
		used += c.Width
	}
	return width - used
}

// Write writes one line, and the head above the first. Cells are data from
// the system, any bytes.
func (l *Lines) Write(cells []string) error {
	l.line = l.line[:0]
	if !l.headed {
		l.headed = true
		for i := range l.Columns {
			l.cell(i, l.Columns[i].Head)
		}
		l.end()
	}
	for i := range l.Columns {
		l.cell(i, Escape(cells[i]))
	}
	l.end()
	if l.ascii {
		l.line = []byte(ASCII(string(l.line)))
	}
	if _, err := l.to.Write(l.line); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

func (l *Lines) cell(i int, s string) {
	c := &l.Columns[i]
	if i > 0 {
		l.line = append(l.line, ' ')
	}
	width := Width(s)
	if width > c.Width && !c.Right {
		s = Middle(s, c.Width)
		width = Width(s)
	}
	room := strings.Repeat(" ", max(0, c.Width-width))
	if c.Right {
		l.line = append(l.line, room...)
		room = ""
	}
	l.line = append(append(l.line, s...), room...)
}

func (l *Lines) end() {
	for len(l.line) > 0 && l.line[len(l.line)-1] == ' ' {
		l.line = l.line[:len(l.line)-1]
	}
	l.line = append(l.line, '\n')
}

// Short is Value in as few columns as it takes: "87.3us", "1.25MiB".
func Short(v float64, unit string) string { return strings.ReplaceAll(table.Value(v, unit), " ", "") }
