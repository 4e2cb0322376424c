package sysstat

import (
	"strings"

	"iocause/internal/parse/lines"
)

// untimed is the time of a head that has none: "# Time  UID  PID ...".
const untimed = -2

// split takes the time off a row: seconds of the day, or since 1970 (pidstat
// -H), -1 without a time.
func split(line string) (at float64, f []string) {
	f = strings.Fields(line)
	switch {
	case len(f) > 2 && f[0] == "#" && f[1] == "Time": // pidstat -h
		return untimed, f[2:]
	case len(f) > 1 && f[0] == "#Time":
		return untimed, f[1:]
	case len(f) < 2:
		return -1, nil
	}
	at = clock(f[0])
	if at < 0 {
		return -1, nil
	}
	f = f[1:]
	switch strings.ToUpper(strings.ReplaceAll(f[0], ".", "")) {
	case "PM":
		if at < 12*3600 {
			at += 12 * 3600
		}
		f = f[1:]
	case "AM":
		if at >= 12*3600 {
			at -= 12 * 3600
		}
		f = f[1:]
	}
	return at, f
}

// clock reads HH:MM:SS, as it is written in other languages as well, and seconds
// since 1970.
func clock(s string) float64 {
	if len(s) == 10 && s[0] == '1' {
		if v, ok := lines.Number(s); ok {
			return v
		}
	}
	if len(s) > 8 {
		s = strings.NewReplacer("\u65f6", ":", "\u6642", ":", "\uc2dc", ":", "\u5206", ":", "\ubd84", ":", "\u79d2", "", "\ucd08", "").Replace(s)
	}
	if len(s) != 8 || s[2] != ':' || s[5] != ':' {
		return -1
	}
	v := [3]float64{}
	for i := range v {
		x, ok := lines.Number(s[3*i : 3*i+2])
		if !ok {
			return -1
		}
		v[i] = x
	}
	return v[0]*3600 + v[1]*60 + v[2]
}
