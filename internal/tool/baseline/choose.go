package baseline

import (
	"fmt"
	"strings"
	"time"

	"iocause/internal/ask"
	"iocause/internal/detect"
)

// DayOf is midnight of a day in the zone of the clock: "today", "yesterday" or a date.
func DayOf(s string, now time.Time) (time.Time, error) {
	switch s {
	case "today":
	case "yesterday":
		now = now.AddDate(0, 0, -1)
	default:
		day, err := time.ParseInLocation(time.DateOnly, s, now.Location())
		if err != nil {
			return time.Time{}, &ask.Error{Err: fmt.Errorf("reading --day: %q is not a day", s), Next: "give today, yesterday or a day such as 2026-11-03"}
		}
		now = day
	}
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()), nil
}

// Named is the signal of this name.
func Named(name string) ([]detect.Signal, error) {
	var names []string
	for _, s := range detect.Signals() {
		if s.Name == name {
			return []detect.Signal{s}, nil
		}
		names = append(names, s.Name)
	}
	return nil, &ask.Error{Err: fmt.Errorf("reading the arguments: there is no signal %q", name), Next: "there are " + strings.Join(names, ", ")}
}

// Known is the hour that begins at start, of all signals of which anything is
// known.
func Known(signals []detect.Signal, history *detect.History, start time.Time) []Hour {
	hours := []Hour{}
	for i := range signals {
		if h := Beside(&signals[i], history, start); h.Samples > 0 || h.Normal.Hours > 0 {
			hours = append(hours, h)
		}
	}
	return hours
}

// Day is all hours of a day of a signal: 23 or 25 where summer time begins or
// ends.
func Day(s *detect.Signal, history *detect.History, day time.Time) []Hour {
	hours := []Hour{}
	for at := day; at.Before(day.AddDate(0, 0, 1)); at = at.Add(time.Hour) {
		hours = append(hours, Beside(s, history, at))
	}
	return hours
}
