package cachetop

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestTable(t *testing.T) {
	g := linestest.Fixture(t, tool(), "cachetop.txt")
	g.Want(sample.CacheAccesses, sample.Entity{PID: 985}, 3017)
	g.Want(sample.CacheMisses, sample.Entity{PID: 985}, 2457)
	g.Want(sample.CacheAccesses, sample.Entity{}, 572+2461)
	g.Want(sample.MemCache, sample.Entity{}, 190<<20)
	if g.Procs[567].Comm != "rs:main Q:Reg" || len(g.Ticks) != 1 || g.Ticks[0] != 5 {
		t.Errorf("%q, intervals %v", g.Procs[567].Comm, g.Ticks)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
