package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/session"
)

// step is the progress of something that takes its time: one line in place on a
// terminal, else a line for every new label.
type step struct {
	*session.Line
	label string
}

func newStep(notes io.Writer) *step { return &step{Line: newLine(notes)} }

// show says what is being done, and how far it is; ten times a second at most.
func (s *step) show(label, detail string) {
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

// confirm asks whoever is at the terminal to type word. Without a terminal
// nobody is asked, and the answer is no.
func confirm(s streams, what, word string) error {
	next := &usageError{fmt.Errorf("asking whether %s: not confirmed", what), "type " + text.Escape(word) + " when asked, or give --yes"}
	if f, ok := s.stdin.(*os.File); ok {
		if _, isTerminal := windowSize(f.Fd()); !isTerminal {
			return next
		}
	}
	fmt.Fprintf(s.stderr, "iocause: %s; type %s to go on: ", text.Escape(what), text.Escape(word))
	line, _ := bufio.NewReader(s.stdin).ReadString('\n') // at its end: what there is
	if strings.TrimSpace(line) != word {
		return next
	}
	return nil
}
