package cli

import (
	"strings"
	"testing"

	"iocause/internal/source"
)

// What makes no sense is refused before anything is watched.
func TestPredictRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"no size of memory":  {"--memory", "much"},
		"too short":          {"--duration", "0.5"},
		"text, json or csv":  {"--format", "xml"},
		"no regular file":    {"--file", "/"},
		"reading --file":     {"--file", "/nowhere/at/all"},
		"no process id":      {"--pid", "0"},
		"it is about writes": {"--rate", "2G"},
		"exclude each other": {"--writes", "--comm", "x"},
	} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"predict"}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q%q, want %q", args, code, out, stderr, want)
		}
	}
}
