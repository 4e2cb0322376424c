package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/present/text"
	"iocause/internal/source"
	"iocause/internal/table"
)

// windowSize is the width of a terminal; isTerminal is false for files, pipes
// and the like.
func windowSize(fd uintptr) (columns int, isTerminal bool) {
	if _, err := unix.IoctlGetTermios(int(fd), unix.TCGETS); err != nil {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80, true
	}
	return int(size.Col), true
}

// Text is hard to read in long lines; tables are not.
const (
	widestText  = 120
	widestTable = 400
)

// styleOf is how output for people may look on a stream: as wide as the
// terminal, widest columns at most; coloured on a terminal that is not dumb,
// unless NO_COLOR is set (no-color.org: to anything but nothing).
func styleOf(stream any, getenv func(string) string, widest int) text.Style {
	columns, isTerminal := terminalWidth(stream)
	if !isTerminal {
		return text.Style{Width: 80}
	}
	return text.Style{
		Width: min(columns, widest),
		Color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb",
	}
}

// held keeps what is written, and has it look as on the stream that it is for.
type held struct {
	bytes.Buffer
	of any
}

// progress is one line on standard error that follows the observation. On
// anything but a terminal it is written once.
type progress struct {
	app     *app
	columns int
	inPlace bool
}

// newProgress says what is being watched.
func (a *app) newProgress(length time.Duration, command []string) *progress {
	columns, isTerminal := terminalWidth(a.stderr)
	p := &progress{app: a, columns: columns}
	// A command writes to the same terminal: two cannot share a line.
	p.inPlace = isTerminal && len(command) == 0 && os.Getenv("TERM") != "dumb"
	switch {
	case len(command) > 0 && length > 0:
		fmt.Fprintf(a.stderr, "iocause: observing %s for %s\n", text.Escape(command[0]), table.Duration(length.Seconds()))
	case len(command) > 0:
		fmt.Fprintf(a.stderr, "iocause: observing %s until it ends\n", text.Escape(command[0]))
	case !p.inPlace:
		fmt.Fprintf(a.stderr, "iocause: observing for %s\n", table.Duration(length.Seconds()))
	}
	return p
}

// update shows how far the observation is.
func (p *progress) update(now source.Progress) {
	if !p.inPlace {
		return
	}
	parts := []string{fmt.Sprintf("observing %.1f of %s", now.Elapsed.Seconds(), table.Duration(now.Length.Seconds()))}
	if now.Device != "" {
		parts = append(parts, fmt.Sprintf("%s reads %s, writes %s", text.Escape(now.Device),
			table.Value(now.Read, "bytes/s"), table.Value(now.Write, "bytes/s")))
	}
	parts = append(parts, "Ctrl-C ends it")
	fmt.Fprintf(p.app.stderr, "\r\x1b[K%s", text.End(strings.Join(parts, " · "), p.columns-1))
}

// erase takes the line away.
func (p *progress) erase() {
	if p.inPlace {
		fmt.Fprint(p.app.stderr, "\r\x1b[K")
	}
}
