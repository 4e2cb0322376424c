package cli

import (
	"strings"
	"testing"

	"iocause/internal/source"
)

// What makes no sense is refused before anything is watched.
func TestPredictRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"not a memory size":  {"--memory", "much"},
		"too short":          {"--duration", "0.5"},
		"text, json or csv":  {"--format", "xml"},
		"not a regular file": {"--file", "/"},
		"reading --file":     {"--file", "/nowhere/at/all"},
		"not a process id":   {"--pid", "0"},
		"it needs --writes":  {"--rate", "2G"},
		"reading --limit":    {"--limit", "2G"},
		"cannot be combined": {"--writes", "--comm", "x"},
	} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"predict"}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q%q, want %q", args, code, out, stderr, want)
		}
	}
}
