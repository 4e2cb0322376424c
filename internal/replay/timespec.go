package replay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Instant reads an instant as people write one: "now", "10m ago", "2h30m ago",
// "3 days ago", "14:00" (the last one), "yesterday 14:00", "2006-01-02 15:04",
// RFC 3339, or @ and seconds since 1970. Without a zone it is local time.
func Instant(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "now" {
		return now, nil
	}
	if before, ok := strings.CutSuffix(s, " ago"); ok {
		if d, err := ago(before); err == nil {
			return now.Add(-d), nil
		}
	}
	if rest, ok := strings.CutPrefix(s, "@"); ok {
		if f, err := strconv.ParseFloat(rest, 64); err == nil && f > -1e11 && f < 1e11 {
			return time.UnixMilli(int64(f * 1000)), nil
		}
	}
	days := 0
	clock := s
	for word, n := range map[string]int{"today": 0, "yesterday": -1} {
		if rest, ok := strings.CutPrefix(s, word); ok {
			days, clock = n, strings.TrimSpace(rest)
			if clock == "" {
				clock = "00:00"
			}
		}
	}
	if c, ok := timeOfDay(clock); ok {
		t := onDay(now, days, c)
		if clock == s && t.After(now) {
			t = t.AddDate(0, 0, -1)
		}
		return t, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", s)
}

// TimeHelp is what to do about a time that cannot be read.
const TimeHelp = `write it like "10m ago", "14:00", "yesterday 14:00" or "2026-01-31 14:00"`

// ago reads how long ago something was: "10m", "1h30m", "3 days".
func ago(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(strings.ReplaceAll(s, " ", "")); err == nil && d >= 0 {
		return d, nil
	}
	number := strings.TrimRight(s, " abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseFloat(number, 64)
	unit := strings.TrimSuffix(strings.TrimSpace(s[len(number):]), "s")
	each := map[string]time.Duration{
		"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour,
		"day": 24 * time.Hour, "d": 24 * time.Hour, "week": 7 * 24 * time.Hour, "w": 7 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
	}[unit]
	if err != nil || each == 0 || !(n >= 0 && n < 1e6) {
		return 0, fmt.Errorf("%q is not a time", s)
	}
	return time.Duration(n * float64(each)), nil
}

var errInstant = errors.New("that is not a time")

// InstantIn reads a time of a recording as Instant does, but for two: a time of
// day is what the recording's clock showed, and +30s is after its beginning.
func InstantIn(s string, now, begin time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return time.Time{}, errInstant
		}
		return begin.Add(d), nil
	}
	begin = begin.In(now.Location())
	if c, ok := timeOfDay(s); ok {
		t := onDay(begin, 0, c)
		if t.Before(begin.Truncate(time.Minute)) { // it went on past midnight
			t = onDay(begin, 1, c)
		}
		return t, nil
	}
	t, err := Instant(s, now)
	if err != nil {
		return t, errInstant
	}
	return t, nil
}

// timeOfDay reads 14:00 or 14:00:30.
func timeOfDay(s string) (clock time.Time, ok bool) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// onDay is a time of day so many days after the day of an instant.
func onDay(of time.Time, days int, clock time.Time) time.Time {
	return time.Date(of.Year(), of.Month(), of.Day()+days, clock.Hour(), clock.Minute(), clock.Second(), 0, of.Location())
}
