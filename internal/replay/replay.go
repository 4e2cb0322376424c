// Package replay opens what was kept — a file of 'iocause record', the evidence
// of an incident, or what the agent recorded all the time — and hands it out as
// windows, the same for all three.
package replay

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"iocause/internal/ask"
)

// Opener opens what was kept.
type Opener struct {
	Dir     string           // the agent's directory
	Program string           // and its version: who makes a recording of the agent's series
	Now     func() time.Time // the clock, in the zone of times without one
	// Note is told, in one line, what is missing or was chosen. Names in it may
	// hold any byte.
	Note func(error)
}

// note is Note of a formatted line.
func (o *Opener) note(format string, args ...any) { o.Note(fmt.Errorf(format, args...)) }

// Interval is a part of what was kept, as people write it. An empty time is no
// bound.
type Interval struct {
	From, To         string
	FromFlag, ToFlag string // the flags that they were given with; "" for from and to
}

// flags are the names of the flags.
func (s *Interval) flags() (from, to string) {
	if s.FromFlag == "" {
		return "from", "to"
	}
	return s.FromFlag, s.ToFlag
}

// Stamp is a time in a note.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// OneLine keeps a name from breaking the line of an error; who prints it
// escapes the rest.
func OneLine(name string) string { return strings.ReplaceAll(name, "\n", `\n`) }

// times reads an interval of a recording that began then; zero for no bound.
func (s *Interval) times(now, begin time.Time) (from, to time.Time, err error) {
	fromFlag, toFlag := s.flags()
	if from, err = flagIn(fromFlag, s.From, now, begin); err != nil {
		return from, to, err
	}
	if to, err = flagIn(toFlag, s.To, now, begin); err != nil {
		return from, to, err
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		err = &ask.Error{Err: fmt.Errorf("reading --%s: %s is not after %s", toFlag, Stamp(to), Stamp(from)), Next: "give a later time"}
	}
	return from, to, err
}

// flagIn is InstantIn for a flag.
func flagIn(flag, s string, now, begin time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := InstantIn(s, now, begin)
	if err != nil {
		return t, &ask.Error{Err: fmt.Errorf("reading --%s: %q: %w", flag, s, err), Next: `give 14:00, "yesterday 14:00", "10m ago", +30s or RFC 3339`}
	}
	return t, nil
}

// Times reads an interval of what the agent recorded; it ends now where nothing else
// is asked for.
func (o *Opener) Times(s *Interval) (from, to time.Time, err error) {
	fromFlag, toFlag := s.flags()
	now := o.Now()
	to = now
	for _, x := range []struct {
		flag, text string
		to         *time.Time
	}{{fromFlag, s.From, &from}, {toFlag, s.To, &to}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = Instant(x.text, now); err != nil {
			return from, to, &ask.Error{Err: fmt.Errorf("reading --%s: %w", x.flag, err), Next: TimeHelp}
		}
	}
	switch {
	case s.From == "":
		return from, to, &ask.Error{Err: errors.New("reading the flags: the start of the time is missing"), Next: "give --" + fromFlag + ", or the file of a recording"}
	case !from.Before(to):
		return from, to, &ask.Error{Err: fmt.Errorf("reading --%s: %s is not before %s", fromFlag, Stamp(from), Stamp(to)), Next: "give an earlier time"}
	}
	return from, to, nil
}
