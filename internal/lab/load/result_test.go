package load

import (
	"strings"
	"testing"
)

func TestTheResultForPeople(t *testing.T) {
	var b strings.Builder
	r := &Result{Kind: "randread", Calls: 2, Bytes: 8192, Seconds: 1, P50: 2.367e-6, P90: 212.99e-6, P99: 0.072174, Max: 1.5, Accesses: 152702, AccessesDedup: 152001, Distinct: 4096, MinorFaults: 4, MajorFaults: 1}
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"p50 2.37 us  p90 213 us  p99 72.2 ms  max 1.5 s", "4 minor faults, 1 major fault,", "152702 accesses, 0 by writes, 4096 distinct; 152001 accesses\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
}
