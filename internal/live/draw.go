package live

import (
	"strings"

	"iocause/internal/present/text"
)

// look is how a piece of a line stands out: parameters of SGR (ECMA-48), of
// the 256 colours that every terminal of today has.
type look string

const (
	plain  look = ""
	strong look = "1"
	faint  look = "38;5;245"
	bad    look = "1;38;5;203"
	good   look = "1;38;5;78"
	warn   look = "1;38;5;214"
	chosen look = "7" // the row that the cursor is on
	titled look = "1;38;5;75"
)

// line is one line of the screen, never wider than width columns.
type line struct {
	b     strings.Builder
	width int
	used  int
	color bool
}

func (m *Model) line() *line { return &line{width: m.width, color: m.o.Color} }

// put adds an escaped text; what does not fit is cut off, and seen to be.
func (l *line) put(s string, k look) *line {
	if l.used >= l.width || s == "" {
		return l
	}
	s = text.End(s, l.width-l.used)
	l.used += text.Width(s)
	if k == plain || !l.color && k != chosen {
		l.b.WriteString(s)
		return l
	}
	l.b.WriteString("\x1b[" + string(k) + "m" + s + "\x1b[m")
	return l
}

// room is how many columns are left.
func (l *line) room() int { return l.width - l.used }

// to fills up with spaces to a column.
func (l *line) to(column int) *line {
	if n := min(column, l.width) - l.used; n > 0 {
		l.b.WriteString(strings.Repeat(" ", n))
		l.used += n
	}
	return l
}

// right puts a text at the right edge, if two columns are left before it.
func (l *line) right(s string, k look) *line {
	w := text.Width(s)
	if l.room() < w+2 {
		return l
	}
	return l.to(l.width-w).put(s, k)
}

func (l *line) String() string { return l.b.String() }

// sparks are bars from none to most.
const sparks = " ▁▂▃▄▅▆▇█"

// spark draws values from 0 to most as a row of bars, the newest at the right
// edge. What is not known is a dot.
func spark(values []float64, width int, most float64) string {
	levels := []rune(sparks)
	if len(values) > width {
		values = values[len(values)-width:]
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", max(0, width-len(values))))
	for _, v := range values {
		switch {
		case v != v:
			b.WriteString("·")
		case v <= 0 || most <= 0:
			b.WriteRune(levels[1])
		default:
			b.WriteRune(levels[min(1+int(v/most*float64(len(levels)-1)), len(levels)-1)])
		}
	}
	return b.String()
}
