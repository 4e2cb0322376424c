package console

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"iocause/internal/ask"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/table"
)

// Step is the progress of something that takes its time: one line in place on a
// terminal, else a line for every new label.
type Step struct {
	*session.Line
	label string
}

func NewStep(notes io.Writer) *Step { return &Step{Line: NewLine(notes)} }

// Show says what is being done, and how far it is; ten times a second at most.
func (s *Step) Show(label, detail string) {
	if label != s.label {
		s.label, s.Every = label, 0
		if !s.InPlace {
			s.Say(text.Escape(label))
		}
	}
	s.Draw(func() string {
		if detail != "" {
			return text.Escape(label) + " · " + detail
		}
		return text.Escape(label)
	})
	s.Every = 100 * time.Millisecond
}

// Counting says how many of something are done, from the third second on.
type Counting struct {
	*session.Line
	doing string // "files measured"
}

func NewCounting(notes io.Writer, doing string) *Counting {
	line := NewLine(notes)
	line.After, line.Every = 2*time.Second, 200*time.Millisecond
	return &Counting{line, doing}
}

// Update is called as often as one likes.
func (c *Counting) Update(n int) {
	c.Tell(func() string { return table.Value(float64(n), "count") + " " + c.doing })
}

// Confirm asks whoever is at the terminal to type word. Without a terminal
// nobody is asked, and the answer is no.
func Confirm(stdin io.Reader, notes io.Writer, what, word string) error {
	next := &ask.Error{Err: fmt.Errorf("asking whether %s: not confirmed", what), Next: "type " + text.Escape(word) + " when asked, or give --yes"}
	if f, ok := stdin.(*os.File); ok && !IsTerminal(f) {
		return next
	}
	fmt.Fprintf(notes, "iocause: %s; type %s to continue: ", text.Escape(what), text.Escape(word))
	line, _ := bufio.NewReader(stdin).ReadString('\n') // at its end: what there is
	if strings.TrimSpace(line) != word {
		return next
	}
	return nil
}
