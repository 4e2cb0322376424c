package perfreport

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
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

// What compaction and encryption take of the processors, as perf top shows it.
func TestWork(t *testing.T) {
	g := linestest.Fixture(t, tool(), "top-compaction.txt")
	g.Want(sample.CPUSampled, sample.Entity{Class: "compaction"}, 0.3812+0.2204+0.0311)
	if len(g.Values) != 1 || g.Uses[lines.Foreign] > 0 || len(g.Faults) > 0 {
		t.Errorf("%v, %v, %q", g.Values, g.Uses, g.Faults)
	}
	g = linestest.Read(t, tool(), "# Samples: 9K of event 'cycles'\n# Overhead  Command  Shared Object  Symbol\n  61.00%  kworker/u16:1  [kernel.kallsyms]  [k] aes_xts_encrypt\n   1.00%  fio  [kernel.kallsyms]  [k] crypt_convert\n")
	g.Want(sample.CPUSampled, sample.Entity{Class: "encryption"}, 0.62)
	g = linestest.Read(t, tool(), "# Samples: 9K of event 'page-faults'\n# Overhead  Command  Shared Object  Symbol\n  61.00%  a  [kernel.kallsyms]  [k] compact_zone\n")
	if len(g.Values) != 0 {
		t.Errorf("faults are no time on a processor: %v", g.Values)
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
