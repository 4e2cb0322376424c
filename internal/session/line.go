package session

import (
	"fmt"
	"io"
	"time"
)

// Line is the one line on standard error that says how far something is. On a
// terminal it is drawn in place; elsewhere it is said once, if at all.
type Line struct {
	To      io.Writer
	InPlace bool                     // To is a terminal that can erase a line, and ours alone
	Fit     func(line string) string // as much of it as the terminal has room for
	After   time.Duration            // nothing is drawn before this
	Every   time.Duration            // nor more often than this

	began time.Time
	drawn time.Time // zero: never
	there bool
}

// Say writes a line that stays.
func (l *Line) Say(what string) {
	l.Erase()
	fmt.Fprintln(l.To, "iocause: "+what)
}

// Draw draws the line in place, if that is possible and due. It may be called as
// often as one likes: what is asked only then.
func (l *Line) Draw(what func() string) {
	if l.InPlace && l.due() {
		l.there = true
		fmt.Fprintf(l.To, "\r\x1b[K%s", l.Fit(what()+" · Ctrl-C ends it"))
	}
}

// Tell draws the line like Draw; where that is not possible it says it, once.
func (l *Line) Tell(what func() string) {
	if l.InPlace {
		l.Draw(what)
	} else if l.drawn.IsZero() && l.due() {
		l.Say(what() + " · Ctrl-C ends it")
	}
}

// due tells whether it is time to draw, and then takes it as done.
func (l *Line) due() bool {
	now := time.Now()
	if l.began.IsZero() {
		l.began = now
	}
	if now.Sub(l.began) < l.After || !l.drawn.IsZero() && now.Sub(l.drawn) < l.Every {
		return false
	}
	l.drawn = now
	return true
}

// Erase takes the line away, for others to write.
func (l *Line) Erase() {
	if l.there {
		l.there = false
		fmt.Fprint(l.To, "\r\x1b[K")
	}
}
