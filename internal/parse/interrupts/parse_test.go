package interrupts

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestTwice(t *testing.T) {
	g := linestest.Fixture(t, tool(), "twice.txt")
	g.WantNote("100 % of the 250000 interrupts of nvme0 between the snapshots are on processor 0")
	if len(g.Notes) != 1 || len(g.Values) != 0 || g.Uses[lines.Foreign] > 0 || !g.IsState {
		t.Errorf("notes %q, values %v, uses %v", g.Notes, g.Values, g.Uses)
	}
}

func TestOnce(t *testing.T) {
	g := linestest.Read(t, tool(), "      CPU0   CPU1\n 25:  5000  5100  PCI-MSI 1-edge  nvme0q1\n 26: 10  20  PCI-MSI 2-edge eth0-TxRx-0\n 27: 9990  5 PCI-MSI 3-edge eth0-TxRx-1\n 28: 1 2\n 29: 1\n")
	g.WantNote("100 % of the 10025 interrupts of eth0 since boot are on processor 0")
	if len(g.Notes) != 1 || len(g.Faults) != 1 {
		t.Errorf("notes %q, faults %q", g.Notes, g.Faults)
	}
	g = linestest.Read(t, tool(), "CPU0\n 25:  5000  PCI-MSI 1-edge  nvme0q1\n")
	g.WantNote("one processor")
	for _, other := range []string{"CPU usage: 5%", "CPU", "CPU0 is busy", "cpu0 cpu1"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for /proc/interrupts", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
