package timehist

import (
	"math"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

// A wait is of the state in which the thread had left the turn before.
func TestStates(t *testing.T) {
	g := linestest.Fixture(t, tool(), "state.txt")
	g.Want(sample.ProcRunDelay, sample.Entity{PID: 8033}, 0.000011)
	g.WantNote("dd (8033) 0.0211 s in 2 turns")
	g.WantNote("57 turns of 2 threads")
	if g.Procs[8032].Comm != "dd" || g.Uses[lines.Used] != 57 || len(g.Faults) > 0 {
		t.Errorf("%v, %v, %q", g.Procs, g.Uses, g.Faults)
	}
	if len(g.Ticks) != 1 || math.Abs(g.Ticks[0]-(39122.341646-39122.243604)) > 1e-9 {
		t.Errorf("intervals %v", g.Ticks)
	}
}

// Columns of processors, next threads and wake-ups change nothing.
func TestWakeUps(t *testing.T) {
	g := linestest.Fixture(t, tool(), "wakeups.txt")
	g.WantNote("the state of waiting threads is not in the text")
	if g.Uses[lines.Skipped] < 5 || g.Uses[lines.Used] < 15 || len(g.Faults) > 0 {
		t.Errorf("%v, %q", g.Uses, g.Faults)
	}
}

func TestSummary(t *testing.T) {
	g := linestest.Fixture(t, tool(), "summary.txt")
	g.WantNote("48 threads; ran longest: split (7614) 0.116 s in 147 turns")
	g.WantNote("0.414 s run in 3931 switches")
	if len(g.Faults) > 0 || g.Uses[lines.Foreign] > 0 {
		t.Errorf("%v, %q", g.Uses, g.Faults)
	}
}

// Names may hold brackets and blanks.
func TestNames(t *testing.T) {
	g := linestest.Read(t, tool(), "time cpu task name wait time sch delay run time\n 1.000001 [0000]  a [b] c[7/5]  1.000 0.500 2.000 \n 2.0 [0001] x[9] 1.000 0.5\n 2.1 [0001] <idle> 1.0 0.0 1.0\n")
	g.Want(sample.ProcRunDelay, sample.Entity{PID: 5}, 0.0005)
	if len(g.Faults) != 1 {
		t.Errorf("%q", g.Faults)
	}
	g.WantNote("a [b] c (7)")
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
