package table

import (
	"math"
	"strconv"
	"strings"
)

// Value writes a figure the way people read it: sizes in KiB, MiB, GiB, times
// in us, ms, s, shares in percent, counts in k, M, G; unit is a base unit of
// sample.Unit or a rate of one ("bytes/s").
func Value(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "not a number"
	}
	if v < 0 {
		return "-" + Value(-v, unit)
	}
	base, rate := strings.CutSuffix(unit, "/s")
	per := ""
	if rate {
		per = "/s"
	}
	switch base {
	case "bytes":
		return Scaled(v, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB"}) + per
	case "seconds":
		if rate { // seconds a second: how many at a time
			return Scaled(v, 1000, thousands()) + " s/s"
		}
		return Duration(v)
	case "ratio":
		return Digits(v*100) + " %" + per
	case "count", "":
		return Scaled(v, 1000, thousands()) + per
	}
	return Scaled(v, 1000, thousands()) + " " + strings.Trim(strconv.Quote(unit), `"`) // it may come from a file that others wrote
}

func thousands() []string { return []string{"", " k", " M", " G", " T", " P"} }

// Duration writes seconds.
func Duration(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 999.5e-9:
		return Digits(s*1e9) + " ns"
	case s < 999.5e-6:
		return Digits(s*1e6) + " us"
	case s < 0.9995:
		return Digits(s*1e3) + " ms"
	case s < 600:
		return Digits(s) + " s"
	case s < 7200:
		return Digits(s/60) + " min"
	}
	return Digits(s/3600) + " h"
}

// Scaled divides v by step until its three digits suffice.
func Scaled(v, step float64, units []string) string {
	i := 0
	for i < len(units)-1 && math.Round(v) >= step {
		v /= step
		i++
	}
	return Digits(v) + units[i]
}

// Digits writes three significant digits, whole numbers without a point.
func Digits(v float64) string {
	decimals := 0
	switch {
	case v >= 99.95:
	case v >= 9.995:
		decimals = 1
	case v >= 0.9995:
		decimals = 2
	case v >= 0.0005:
		decimals = 3
	case v > 0:
		return "< 0.001"
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
