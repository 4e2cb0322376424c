package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/present/text"
)

// withLabTools adds what needs more than the lab's loads do: the host, the
// sources, the diagnosis.
func (a *app) withLabTools(lab *cobra.Command) *cobra.Command {
	lab.AddCommand(a.newLabEatCommand(), a.newLabProbeCommand(), a.newLabFioCommand(), a.newLabRunCommand(), a.newLabCompareCommand(), a.newLabScoreCommand(), a.newLabProveCommand())
	return lab
}

// step is the progress of something that takes its time, on standard error:
// one line in place on a terminal, else a line for every new label.
type step struct {
	app     *app
	columns int
	inPlace bool
	label   string
	last    time.Time
}

func (a *app) newStep() *step {
	columns, isTerminal := terminalWidth(a.stderr)
	return &step{app: a, columns: columns, inPlace: isTerminal && os.Getenv("TERM") != "dumb"}
}

// show says what is being done, and how far it is; ten times a second at most.
func (s *step) show(label, detail string) {
	switch {
	case !s.inPlace && label != s.label:
		fmt.Fprintf(s.app.stderr, "iocause: %s\n", text.Escape(label))
	case s.inPlace && (label != s.label || time.Since(s.last) > 100*time.Millisecond):
		line := text.Escape(label)
		if detail != "" {
			line += " · " + detail
		}
		fmt.Fprintf(s.app.stderr, "\r\x1b[K%s", text.End(line+" · Ctrl-C ends it", s.columns-1))
		s.last = time.Now()
	}
	s.label = label
}

// erase takes the line away.
func (s *step) erase() {
	if s.inPlace {
		fmt.Fprint(s.app.stderr, "\r\x1b[K")
	}
}

// confirm asks whoever is at the terminal to type word. Without a terminal
// nobody is asked, and the answer is no.
func (a *app) confirm(what, word string) error {
	next := &usageError{fmt.Errorf("asking whether %s: not confirmed", what), "type " + text.Escape(word) + " when asked, or give --yes"}
	if f, ok := a.stdin.(*os.File); ok {
		if _, isTerminal := windowSize(f.Fd()); !isTerminal {
			return next
		}
	}
	fmt.Fprintf(a.stderr, "iocause: %s; type %s to go on: ", text.Escape(what), text.Escape(word))
	line, _ := bufio.NewReader(a.stdin).ReadString('\n') // at its end: what there is
	if strings.TrimSpace(line) != word {
		return next
	}
	return nil
}
