package perftrace

import (
	"strings"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestSummary(t *testing.T) {
	g := linestest.Fixture(t, tool(), "load.txt")
	g.WantNote("of 3 threads")
	g.WantNote("dd (9208) spent 0.0147 s in 63 calls of write, 0.233 ms each, at most 0.326 ms")
	if g.Procs[9208].Comm != "dd" || g.Uses[lines.Foreign] > 0 || len(g.Faults) > 0 {
		t.Errorf("%v, %v, %q", g.Procs, g.Uses, g.Faults)
	}
	for _, n := range g.Notes {
		if strings.Contains(n, "calls of rt_sigsuspend") {
			t.Errorf("waiting for a signal is taken for work: %s", n)
		}
	}
}

// The layout before Linux 5.12 has no errors; a cut line is told.
func TestOldLayout(t *testing.T) {
	g := linestest.Read(t, tool(), " Summary of events:\n\n a b (c) (7), 12 events, 50.0%\n\n syscall calls total min avg max stddev\n (msec) (msec) (msec) (msec) (%)\n --- ---\n fsync 3 30.000 5.000 10.000 15.000 1.00%\n write 3 30.0\n")
	g.WantNote("a b (c) (7) spent 0.03 s in 3 calls of fsync, 10 ms each, at most 15 ms")
	if len(g.Faults) != 1 || !strings.Contains(g.Faults[0], `2 figures of "write", not 5`) {
		t.Errorf("%q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
