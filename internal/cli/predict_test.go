package cli

import (
	"strings"
	"testing"

	"iocause/internal/source"
	"iocause/internal/tool/predict"
)

// What --memory asks for is a size, or more or less than there is.
func TestMemories(t *testing.T) {
	got, err := memories("2G, +50%,+512M,-1G,-25%")
	want := []predict.Ask{{Bytes: 2 << 30}, {Share: 0.5, Beside: true}, {Bytes: 512 << 20, Beside: true}, {Bytes: -1 << 30, Beside: true}, {Share: -0.25, Beside: true}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	for _, bad := range []string{"x", "2G,", "-100%", "+x%", "0", "--1G", "nan%"} {
		if got, err := memories(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// What makes no sense is refused before anything is watched.
func TestPredictRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"no size of memory":   {"--memory", "much"},
		"too short":           {"--duration", "0.5"},
		"no format is called": {"--format", "xml"},
		"no regular file":     {"--file", "/"},
		"reading --file":      {"--file", "/nowhere/at/all"},
		"no process id":       {"--pid", "0"},
		"it is about writes":  {"--rate", "2G"},
		"exclude each other":  {"--writes", "--comm", "x"},
	} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"predict"}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q%q, want %q", args, code, out, stderr, want)
		}
	}
}
