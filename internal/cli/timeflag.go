package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// timeFlag is a flag that takes a time as INTERVAL does: in seconds, or with a
// unit.
type timeFlag struct{ to *time.Duration }

// timeIn is the value of such a flag.
func timeIn(to *time.Duration, value time.Duration) timeFlag {
	*to = value
	return timeFlag{to}
}

// Set implements pflag.Value.
func (t timeFlag) Set(s string) error {
	d, err := parseTime(s)
	if err == nil {
		*t.to = d
	}
	return err
}

// String implements pflag.Value; the help leaves out a default of "".
func (t timeFlag) String() string {
	if t.to == nil || *t.to == 0 {
		return ""
	}
	return t.to.String()
}

// Type implements pflag.Value.
func (timeFlag) Type() string { return "duration" }

// parseTime reads seconds, with a unit or without.
func parseTime(s string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is no time; give seconds, or a time such as 500ms or 2m", s)
		}
		return d, nil
	}
	if !(math.Abs(seconds) < 1e9) { // infinite, no number, or more than a Duration holds
		return 0, fmt.Errorf("%q seconds are too many", s)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
