package cachestat

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestPerfTools(t *testing.T) {
	g := linestest.Fixture(t, tool(), "perf-tools-low.txt")
	g.Want(sample.CacheAccesses, sample.Entity{}, 2443, 16762, 24975, 15450, 5630, 24740, 10761)
	g.Want(sample.CacheMisses, sample.Entity{}, 632, 15132, 23341, 13599, 3689, 23007, 9566)
	if c := g.Values[linestest.Key{Metric: sample.MemCache}]; len(c) != 7 || c[0] != (48009+17)<<20 {
		t.Errorf("the cache has the sizes %v", c)
	}
	g.WantNote("cachestat estimates")
}

// bcc's negative figures are an error of the tool, and said to be.
func TestBCC(t *testing.T) {
	g := linestest.Fixture(t, tool(), "bcc.txt")
	g.Want(sample.CacheAccesses, sample.Entity{}, 539, 1480)
	g.Want(sample.CacheMisses, sample.Entity{}, 0, 246)
	if len(g.Ticks) != 2 || g.Ticks[0] != 2 {
		t.Errorf("the intervals are %v, want 2 of 2 s", g.Ticks)
	}
	g.WantNote("1 row of cachestat with negative figures")
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
