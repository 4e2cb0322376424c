package text

import "strings"

// look is how a piece of text stands out; without colour it does not.
type look string

const (
	plain look = ""
	bold  look = "\x1b[1m"
	dim   look = "\x1b[2m"
	red   look = "\x1b[1;31m"
	green look = "\x1b[1;32m"
	off        = "\x1b[0m"
)

// span is escaped text in one look.
type span struct {
	text string
	look look
}

// page collects lines that are never wider than width columns.
type page struct {
	width  int
	color  bool
	ascii  bool // no other characters
	lines  []string
	label  string // of the section, until its first line is out
	column int    // that the content of every section starts at

	indent int // columns that wrap leaves free at the start of every line
	extra  int // lines of the terminal that lines which are not cut take beyond their own
}

// labelWidth is that column of a whole report.
const labelWidth = 14

// section makes the next line bear a label in its first column.
func (p *page) section(label string) { p.label = label }

// room is how many columns the content has.
func (p *page) room() int { return p.width - p.column }

// put writes one line of content; what does not fit is cut off.
func (p *page) put(spans ...span) {
	p.raw(append([]span{{Pad(p.label, p.column), bold}}, spans...)...)
	p.label = ""
}

// copied writes one line of content that is to be copied, so that it is never cut: the
// terminal breaks it.
func (p *page) copied(s span) {
	p.lines = append(p.lines, p.paint(span{Pad(p.label, p.column), bold})+p.paint(s))
	p.extra += max(p.column+Width(s.text)-1, 0) / p.width
	p.label = ""
}

// height is how many lines of the terminal it takes.
func (p *page) height() int { return len(p.lines) + p.extra }

// raw writes one line from the first column on.
func (p *page) raw(spans ...span) {
	var b strings.Builder
	left := p.width
	for i, s := range spans {
		s.text = End(s.text, left)
		left -= Width(s.text)
		if i == len(spans)-1 {
			s.text = strings.TrimRight(s.text, " ")
		}
		b.WriteString(p.paint(s))
	}
	p.lines = append(p.lines, strings.TrimRight(b.String(), " "))
}

// paint gives a text its look.
func (p *page) paint(s span) string {
	if p.color && s.look != plain && strings.TrimSpace(s.text) != "" {
		return string(s.look) + s.text + off
	}
	return s.text
}

// wrap writes a text over several lines, those after the first indented by hang
// columns. Where it takes more than limit (0: no limit), its last clauses are left out.
func (p *page) wrap(s string, hang, limit int, l look) {
	width := p.room() - p.indent - hang
	lines := Wrap(s, width)
	if limit > 0 {
		lines = Shorten(s, width, limit)
	}
	for i, line := range lines {
		indent := p.indent
		if i > 0 {
			indent += hang
		}
		p.put(span{strings.Repeat(" ", indent) + line, l})
	}
}

func (p *page) blank() { p.lines = append(p.lines, "") }

func (p *page) String() string {
	out := strings.Join(p.lines, "\n") + "\n"
	if p.ascii {
		return ASCII(out)
	}
	return out
}
