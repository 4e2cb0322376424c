package perfreport

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestFlat(t *testing.T) {
	g := linestest.Fixture(t, tool(), "flat.txt")
	g.WantNote("samples of cpu-clock:ppp (40)")
	g.WantNote("most in _raw_spin_unlock_irq 7.5 % (dd), _raw_spin_unlock_irqrestore 7.5 % (dd)")
	g.WantNote("offcpu shows what threads wait for")
	if g.Uses[lines.Used] != 29 || g.Uses[lines.Foreign] > 0 || len(g.Faults) > 0 {
		t.Errorf("%v, %q", g.Uses, g.Faults)
	}
}

// With call chains, and with a column for what a function calls: its own share
// counts.
func TestChildren(t *testing.T) {
	g := linestest.Fixture(t, tool(), "children.txt")
	g.WantNote("samples of cpu-clock:ppp (40)")
	if g.Uses[lines.Foreign] > 0 || len(g.Faults) > 0 {
		t.Errorf("%v, %q", g.Uses, g.Faults)
	}
}

func TestBroken(t *testing.T) {
	g := linestest.Read(t, tool(), "# Overhead  Command  Shared Object  Symbol\n# ....\n  50.00%  a b  libx.so  [.] f(int, char)\n  30.00%\n 2000%  a  b [k] c\n")
	g.WantNote("f(int, char) 50 % (a b)")
	if len(g.Faults) != 2 {
		t.Errorf("%q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
