package cli

import (
	"strings"
	"testing"
)

func TestFailOn(t *testing.T) {
	for answers, want := range map[string]int{
		"cgroup-cache-limit": exitFound, "problem": exitFound, "swap-thrash,cgroup-cache-limit": exitFound,
		"swap-thrash": exitWell, "cannot-tell": exitWell, "healthy": exitUsage, "swap": exitUsage,
	} {
		code, out, notes := runApp(t.Context(), nil, "diagnose", "--recording", "testdata/golden/host.iocause", "--fail-on", answers)
		if code != want {
			t.Errorf("%s: status %d, want %d: %s", answers, code, want, notes)
		}
		if said := strings.Contains(out, "PROBLEM: cgroup-cache-limit"); said != (want != exitUsage) {
			t.Errorf("%s: it printed %q", answers, out)
		}
	}
}
