// Package console is the screen, or what stands for it: how wide and coloured
// output may be, lines that follow what goes on, tables of one interval after
// another in every format, questions and their answers.
package console

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/present/text"
	"iocause/internal/session"
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

// Widths in columns: text is hard to read in long lines; tables are not.
const (
	WidestText  = 120
	WidestTable = 400
)

// Style is how output for people may look on a stream: as wide as the
// terminal, widest columns at most; coloured on a terminal that is not dumb,
// unless NO_COLOR is set (no-color.org: to anything but nothing).
func Style(stream any, getenv func(string) string, widest int) text.Style {
	columns, isTerminal := Width(stream)
	if !isTerminal {
		return text.Style{Width: 80, ASCII: noUTF8(getenv)}
	}
	return text.Style{
		Width: min(columns, widest),
		Color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb",
		ASCII: noUTF8(getenv),
	}
}

// noUTF8 tells whether the locale says that the terminal has no UTF-8 (locale(7)). That
// none is set says nothing: services and containers often have none.
func noUTF8(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// Held keeps what is written, and has it look as on the stream that it is for.
type Held struct {
	bytes.Buffer
	Of any
}

// Width is the width of a stream that is a terminal.
func Width(stream any) (columns int, isTerminal bool) {
	if h, ok := stream.(*Held); ok {
		stream = h.Of
	}
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return 0, false
	}
	return windowSize(f.Fd())
}

// NewLine is a line on standard error that follows what goes on.
func NewLine(notes io.Writer) *session.Line {
	columns, isTerminal := Width(notes)
	return &session.Line{To: notes, InPlace: isTerminal && os.Getenv("TERM") != "dumb",
		Fit: func(line string) string {
			if line = text.End(line, columns-1); noUTF8(os.Getenv) {
				return text.ASCII(line)
			}
			return line
		}}
}

// NewProgress says what is being watched: the line that it returns follows
// that where it can be drawn in place.
func NewProgress(notes io.Writer, length time.Duration, command []string) *session.Line {
	line := NewLine(notes)
	// A command writes to the same terminal: two cannot share a line.
	line.InPlace = line.InPlace && len(command) == 0
	switch {
	case len(command) > 0 && length > 0:
		line.Say(fmt.Sprintf("observing %s for %s", text.Escape(command[0]), table.Duration(length.Seconds())))
	case len(command) > 0:
		line.Say(fmt.Sprintf("observing %s until it ends", text.Escape(command[0])))
	case !line.InPlace:
		line.Say("observing for " + table.Duration(length.Seconds()))
	}
	return line
}

// Observing says how far an observation is.
func Observing(now source.Progress) string {
	line := fmt.Sprintf("observing %.1f of %s", now.Elapsed.Seconds(), table.Duration(now.Length.Seconds()))
	if now.Device != "" {
		line += fmt.Sprintf(" · %s reads %s, writes %s", text.Escape(now.Device), table.Value(now.Read, "bytes/s"), table.Value(now.Write, "bytes/s"))
	}
	return line
}

// IsTerminal tells whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	_, ok := windowSize(f.Fd())
	return ok
}

// IsDirectory tells whether there is a folder of that name.
func IsDirectory(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// BehindShell tells whether a shell with job control is there to go back to
// when we are stopped: the kernel does not stop a process group that nobody
// could wake (setpgid(2), orphaned process groups).
func BehindShell() bool {
	own, err1 := unix.Getsid(0)
	parent, err2 := unix.Getsid(os.Getppid())
	group, err3 := unix.Getpgid(os.Getppid())
	return err1 == nil && err2 == nil && err3 == nil && own == parent && group != unix.Getpgrp()
}
