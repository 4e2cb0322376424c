package ask

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Time is a flag that takes a time as INTERVAL does: in seconds, or with a
// unit. Its default is taken, and else what is neither below zero nor too short.
type Time struct {
	to           *time.Duration
	value, least time.Duration
	advice       string // what is a good value
}

// TimeIn is the value of such a flag.
func TimeIn(to *time.Duration, value time.Duration) Time {
	*to = value
	return Time{to: to, value: value, advice: "give a time such as 10ms or 30s"}
}

// From refuses times that are shorter.
func (t Time) From(least time.Duration, advice string) Time {
	t.least, t.advice = least, advice
	return t
}

// Set implements pflag.Value.
func (t Time) Set(s string) error {
	d, err := ParseTime(s)
	switch {
	case err != nil:
		return err
	case d < 0:
		return &Error{Err: fmt.Errorf("%v is below zero", d), Next: t.advice}
	case d < t.least && d != t.value:
		return &Error{Err: fmt.Errorf("%v is too short", d), Next: t.advice}
	}
	*t.to = d
	return nil
}

// String implements pflag.Value; the help leaves out a default of "".
func (t Time) String() string {
	if t.to == nil || *t.to == 0 {
		return ""
	}
	return t.to.String()
}

// Type implements pflag.Value.
func (Time) Type() string { return "duration" }

// ParseTime reads seconds, with a unit or without.
func ParseTime(s string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is not a time; give seconds, or a time such as 500ms or 2m", s)
		}
		return d, nil
	}
	if !(math.Abs(seconds) < 1e9) { // infinite, no number, or more than a Duration holds
		return 0, fmt.Errorf("%q seconds are too many", s)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
