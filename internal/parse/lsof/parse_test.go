package lsof

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

// A file that is open twice holds its space once.
func TestDeleted(t *testing.T) {
	g := linestest.Fixture(t, tool(), "deleted.txt")
	g.WantNote("3 deleted files without a name hold 21.6 GB")
	g.WantNote("java (2201) holds 21.5 GB")
	if len(g.Faults) > 0 || g.Uses[lines.Foreign] > 0 || !g.IsState {
		t.Errorf("faults %q, uses %v", g.Faults, g.Uses)
	}
}

func TestProcess(t *testing.T) {
	g := linestest.Fixture(t, tool(), "process.txt")
	g.WantNote("2 regular files open by 1 process")
	if len(g.Notes) != 1 || len(g.Faults) > 0 {
		t.Errorf("notes %q, faults %q", g.Notes, g.Faults)
	}
}

func TestOdd(t *testing.T) {
	const head = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
	g := linestest.Read(t, tool(), head+"a 7 root 3u REG 8,1 12x 77 /f\na 7 root 3u REG 8,1 12\nnot a row of it\n")
	if len(g.Faults) != 2 || g.Uses[lines.Foreign] != 1 {
		t.Errorf("faults %q, uses %v", g.Faults, g.Uses)
	}
	if Find("COMMAND PID S USER NAME and more words to come here") >= 0 {
		t.Error("another list is taken for it")
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
