package text

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
		return scaled(v, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB"}) + per
	case "seconds":
		if rate { // seconds a second: how many at a time
			return scaled(v, 1000, thousands()) + " s/s"
		}
		return Duration(v)
	case "ratio":
		return digits(v*100) + " %" + per
	case "count", "":
		return scaled(v, 1000, thousands()) + per
	}
	return scaled(v, 1000, thousands()) + " " + Escape(unit)
}

// percent writes a share that is an estimate: without decimals.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + " %" }

func thousands() []string { return []string{"", " k", " M", " G", " T", " P"} }

// Duration writes seconds.
func Duration(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 999.5e-9:
		return digits(s*1e9) + " ns"
	case s < 999.5e-6:
		return digits(s*1e6) + " us"
	case s < 0.9995:
		return digits(s*1e3) + " ms"
	case s < 600:
		return digits(s) + " s"
	case s < 7200:
		return digits(s/60) + " min"
	}
	return digits(s/3600) + " h"
}

// scaled divides v by step until its three digits suffice.
func scaled(v, step float64, units []string) string {
	i := 0
	for i < len(units)-1 && math.Round(v) >= step {
		v /= step
		i++
	}
	return digits(v) + units[i]
}

// digits writes three significant digits, whole numbers without a point.
func digits(v float64) string {
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
