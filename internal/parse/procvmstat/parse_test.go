package procvmstat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func sum(g *linestest.Got, m sample.Metric) (t float64) {
	for _, v := range g.Values[linestest.Key{Metric: m}] {
		t += v
	}
	return t
}

func TestTwoLooks(t *testing.T) {
	g := linestest.Fixture(t, tool(), "twice.txt")
	if in, re := sum(g, sample.VMPageIn), sum(g, sample.VMRefaultFile); in != 900000<<10 || re != 200000 {
		t.Errorf("%g bytes came in, %g pages again; want %d and 200000", in, re, 900000<<10)
	}
	g.Want(sample.VMDirtyLimit, sample.Entity{}, 100000*4096)
	g.Want(sample.MemDirty, sample.Entity{}, 15*4096)
	if len(g.Ticks) != 1 || g.Ticks[0] != 5 {
		t.Errorf("the intervals are %v, want 5 s", g.Ticks)
	}
}

// What a kernel counts for each zone is added up.
func TestZones(t *testing.T) {
	g := linestest.Read(t, tool(), "pgpgin 1\nallocstall_dma 1\nallocstall_normal 10\noom_kill 0\npgpgin 2\nallocstall_dma 2\nallocstall_normal 15\noom_kill 1\n")
	g.Want(sample.VMAllocStall, sample.Entity{}, 6, 0)
	g.Want(sample.VMKilled, sample.Entity{}, 1, 0)
}

// Counters since boot say nothing of now.
func TestOneLook(t *testing.T) {
	g := linestest.Fixture(t, tool(), "once.txt")
	if _, ok := g.Values[linestest.Key{Metric: sample.VMPageIn}]; ok || len(g.Ticks) != 0 {
		t.Error("one look gives a counter")
	}
	if g.Uses[3] < 10 || len(g.Faults) != 0 {
		t.Errorf("%d lines were used, faults %v", g.Uses[3], g.Faults)
	}
	g.WantNote("since boot")
}

// A kernel that is newer than this reader has lines of names that it does not
// know between those that it does.
func TestNewKernel(t *testing.T) {
	g := linestest.Fixture(t, tool(), "6.18-twice.txt")
	if len(g.Ticks) != 1 || g.Uses[lines.Foreign] != 1 { // the next command ends it
		t.Errorf("%d intervals, %d foreign lines: the looks were torn apart", len(g.Ticks), g.Uses[lines.Foreign])
	}
	if in := sum(g, sample.VMPageIn); in != (5000-1000)<<10 {
		t.Errorf("%g bytes came in", in)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
