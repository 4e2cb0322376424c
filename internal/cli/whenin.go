package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// spanHelp ends the help of commands that take a span of a recording.
const spanHelp = "TIME is 14:00 or 14:00:30 (of the day that the recording began on), \"yesterday\n" +
	"14:00\", \"2026-01-31 14:00\", RFC 3339, \"10m ago\", or +30s after the beginning."

var errWhen = errors.New("no time is written like that")

// whenIn reads a time of a recording as when does, but for two: a time of day
// is what the recording's clock showed, and +30s is after its beginning.
func whenIn(s string, now, begin time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return time.Time{}, errWhen
		}
		return begin.Add(d), nil
	}
	begin = begin.In(now.Location())
	for _, layout := range []string{"15:04", "15:04:05"} {
		if c, err := time.Parse(layout, s); err == nil {
			t := time.Date(begin.Year(), begin.Month(), begin.Day(), c.Hour(), c.Minute(), c.Second(), 0, begin.Location())
			if t.Before(begin.Truncate(time.Minute)) { // it went on past midnight
				t = time.Date(begin.Year(), begin.Month(), begin.Day()+1, c.Hour(), c.Minute(), c.Second(), 0, begin.Location())
			}
			return t, nil
		}
	}
	t, err := when(s, now)
	if err != nil {
		return t, errWhen
	}
	return t, nil
}

// readWhen is whenIn for a flag.
func readWhen(flag, s string, now, begin time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := whenIn(s, now, begin)
	if err != nil {
		return t, &usageError{fmt.Errorf("reading --%s: %q: %w", flag, s, err), `give 14:00, "yesterday 14:00", "10m ago", +30s or RFC 3339`}
	}
	return t, nil
}
