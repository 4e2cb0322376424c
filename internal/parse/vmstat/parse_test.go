package vmstat

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestPlain(t *testing.T) {
	g := linestest.Fixture(t, tool(), "plain.txt")
	g.Want(sample.ProcsRunning, sample.Entity{}, 3, 2)
	g.Want(sample.VMPageIn, sample.Entity{}, 346040<<10, 342188<<10)
	g.Want(sample.MemCache, sample.Entity{}, (47112+1004088)<<10, (47112+1004088)<<10)
	g.Want(sample.CPUIOWait, sample.Entity{}, 0.01, 0)
	g.WantNote("since boot")
}

func TestUnitsAndTime(t *testing.T) {
	g := linestest.Fixture(t, tool(), "wide-stamped-mib.txt")
	g.Want(sample.MemFree, sample.Entity{}, 22781<<20, 22781<<20)
	g.Want(sample.VMPageIn, sample.Entity{}, 346160<<10, 342116<<10)
	g = linestest.Read(t, tool(), "$ vmstat 10\n r b swpd free buff cache si so bi bo in cs us sy id wa st\n 1 0 0 1 1 1 0 0 0 0 0 0 0 0 100 0 0\n 1 3 0 1 1 1 400 800 0 0 0 0 0 0 100 0 0\n 1 3 0 1\n")
	g.Want(sample.VMSwapIn, sample.Entity{}, 1000)
	g.Want(sample.VMSwapOut, sample.Entity{}, 2000)
	g.Want(sample.ProcsBlocked, sample.Entity{}, 3)
	if len(g.Faults) != 1 {
		t.Errorf("faults %q, want one for the row that is cut off", g.Faults)
	}
}

// A text without its command, and one in French.
func TestUnitThatIsNotSaid(t *testing.T) {
	g := linestest.Fixture(t, tool(), "mib-without-command.txt")
	g.Want(sample.MemFree, sample.Entity{}, 19477<<20)
	g.Want(sample.VMPageIn, sample.Entity{}, 1254656<<10)
	g.WantNote("so MiB (-S M) is assumed")
	g = linestest.Fixture(t, tool(), "fr_FR.txt")
	g.Want(sample.MemFree, sample.Entity{}, 19499928<<10)
	g.Want(sample.MemCache, sample.Entity{}, (125368+4664820)<<10)
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// Each run of a loop begins with the mean since boot.
func TestLoop(t *testing.T) {
	run := func(wa string) string {
		return "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n" +
			" 1 0 0 400 400 400 0 0 0 0 1 1 5 5 88 2 0\n 1 0 0 400 400 400 0 0 0 0 1 1 5 5 50 " + wa + " 0\n"
	}
	g := linestest.Read(t, tool(), "$ while :; do vmstat 1 2; sleep 60; done\n"+run("40")+run("30")+run("20"))
	g.Want(sample.CPUIOWait, sample.Entity{}, .4, .3, .2)
}
