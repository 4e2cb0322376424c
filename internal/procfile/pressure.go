package procfile

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// Pressure is one file of /proc/pressure (Documentation/accounting/psi.rst):
// microseconds since boot in which some, or all, of the threads that were not
// idle waited for the resource. Full is nil before Linux 5.13 for "cpu".
type Pressure struct {
	Some, Full *uint64
}

// PressureLine is one line of such a file:
//
//	some avg10=0.00 avg60=0.12 avg300=0.15 total=123456
//
// The figures are as they were written; nil ones are not in the line.
type PressureLine struct {
	Full         bool
	Avg10, Total []byte
}

// ParsePressureLine parses one line; ok is false for lines of other kinds.
func ParsePressureLine(line []byte) (l PressureLine, ok bool) {
	kind, rest := host.Field(line)
	switch string(kind) {
	case "some":
	case "full":
		l.Full = true
	default:
		return l, false
	}
	for f, rest := host.Field(rest); len(f) > 0; f, rest = host.Field(rest) {
		key, value, _ := bytes.Cut(f, []byte("="))
		switch {
		case string(key) == "avg10" && l.Avg10 == nil:
			l.Avg10 = value
		case string(key) == "total" && l.Total == nil:
			l.Total = value
		}
	}
	return l, true
}

// ParsePressure parses a file of /proc/pressure.
func ParsePressure(b []byte) (Pressure, error) {
	var p Pressure
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		l, ok := ParsePressureLine(line)
		if !ok {
			continue
		}
		if l.Total == nil {
			return p, &host.LineError{Line: n, What: "total= is missing"}
		}
		v, ok := host.Uint(l.Total)
		if !ok {
			return p, &host.LineError{Line: n, What: fmt.Sprintf("total %.40q is not a number", l.Total)}
		}
		if l.Full {
			p.Full = &v
		} else {
			p.Some = &v
		}
	}
	if p.Some == nil {
		return p, &host.LineError{Line: 1, What: "the line \"some\" is missing"}
	}
	return p, nil
}
