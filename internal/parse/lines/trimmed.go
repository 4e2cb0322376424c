package lines

import "strings"

// Trimmed is a reader to which neither indentation nor blank lines say anything.
type Trimmed interface {
	// Text takes the text of the next line that is not blank.
	Text(text string, l Line, into Values) (Use, error)
	Close(into Values)
}

// Trim makes a Reader of one.
func Trim(r Trimmed) Reader { return trimmed{r} }

type trimmed struct{ Trimmed }

// Line implements Reader.
func (t trimmed) Line(l Line, into Values) (Use, error) {
	text := strings.TrimSpace(l.Text)
	if text == "" {
		return Skipped, nil
	}
	return t.Text(text, l, into)
}
