package cifsiostat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

const head = "Filesystem                    rkB/s        wkB/s    rops/s    wops/s         fo/s         fc/s         fd/s\n"

func TestShares(t *testing.T) {
	g := linestest.Read(t, tool(), "Linux 6.1.0 (web1) 	11/21/26 	_x86_64_	(2 CPU)\n\n"+
		head+`\\files\home                  2000.00         0.00    100.00      0.00         1.00         1.00         0.00`+"\n"+
		`\\files\my docs                10.00         5.00      1.00      2.00         0.00         0.00         0.00`+"\n\n"+
		head+`\\files\home                  4000.00         0.00    200.00      0.00         1.00         1.00         0.00`+"\n")
	g.Want(sample.MountKind, sample.Entity{Device: `\\files\home`, Class: "cifs"}, 1)
	g.Want(sample.MountKind, sample.Entity{Device: `\\files\my docs`, Class: "cifs"}, 1)
	g.WantNote(`the busiest of 2 CIFS mounts is \\files\home: 3.07 MB/s read in 150 requests/s`)
	g.WantNote("does not show how long")
	if len(g.Faults) > 0 || !g.IsState {
		t.Errorf("faults %q, state %v", g.Faults, g.IsState)
	}
}

// Lines that are cut off or hold no figures are told; a table without mounts says so.
func TestOdd(t *testing.T) {
	g := linestest.Read(t, tool(), head+`\\files\home 2000.00 0.00`+"\n"+`\\files\home 2000.00 0.00 x 0.00 1.00 1.00 0.00`+"\nthe end\n")
	if len(g.Faults) != 2 || g.Uses[lines.Foreign] != 1 {
		t.Errorf("faults %q, uses %v", g.Faults, g.Uses)
	}
	linestest.Read(t, tool(), head).WantNote("no CIFS mount")
	if Find("Filesystem     1K-blocks    Used Available Use% Mounted on x y") >= 0 {
		t.Error("the head of df is taken for it")
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// A report with bytes, as it is printed.
func TestReport(t *testing.T) {
	g := linestest.Fixture(t, tool(), "cifsiostat.txt")
	g.WantNote(`\\files\home: 2.05 MB/s read in 100 requests/s`)
	if g.Uses[lines.Foreign] > 0 || len(g.Faults) > 0 {
		t.Errorf("uses %v, faults %q", g.Uses, g.Faults)
	}
}
