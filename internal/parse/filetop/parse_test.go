package filetop

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestTable(t *testing.T) {
	g := linestest.Fixture(t, tool(), "filetop.txt")
	g.Want(sample.ProcReadChars, sample.Entity{PID: 26628}, 643<<10, 400<<10)
	g.Want(sample.ProcReadCalls, sample.Entity{PID: 26634}, 1)
	g.Want(sample.ProcWriteChars, sample.Entity{PID: 26618}, 44<<10)
	if g.Procs[26634].Comm != "cc1 plus" || len(g.Ticks) != 2 || g.Ticks[0] != 5 {
		t.Errorf("%q, intervals %v", g.Procs[26634].Comm, g.Ticks)
	}
	g.WantNote("84 % of the bytes read by calls are of built-in.o")
	if g = linestest.Read(t, tool(), "TID COMM READS WRITES R_Kb W_Kb T FILE\n12 ld 1 2 3\n"); len(g.Faults) != 1 {
		t.Errorf("faults %q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

func TestTrailingBlanks(t *testing.T) {
	if Find("TID    COMM             READS  WRITES R_Kb    W_Kb    T FILE   ") != 0 {
		t.Error("a head with blanks behind it is not found")
	}
}
