package series

import (
	"strconv"
	"strings"
)

// A histogram is kept as Prometheus's classic ones are: a counter of what is up to
// each bound (NAME_bucket, with the bound in the label le), of all of it
// (NAME_count), and the sum (NAME_sum).
const (
	Bucket = "_bucket"
	Count  = "_count"
	Sum    = "_sum"
	Bound  = "le"
)

// HistogramOf is the name of the histogram that a series is a part of, and which
// part; ok is false for any other series.
func HistogramOf(name string) (histogram, part string, ok bool) {
	for _, part := range []string{Bucket, Count, Sum} {
		if histogram, ok := strings.CutSuffix(name, part); ok {
			return histogram, part, true
		}
	}
	return "", "", false
}

// counts tells whether a series only increases.
func counts(name string) bool {
	_, _, part := HistogramOf(name)
	return part || strings.HasSuffix(name, "_total")
}

// BoundOf writes a bound as the label has it.
func BoundOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
