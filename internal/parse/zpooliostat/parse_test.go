package zpooliostat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

// The first report is the mean since the import and is left out where others follow;
// rows of disks are not pools.
func TestPools(t *testing.T) {
	g := linestest.Fixture(t, tool(), "iostat.txt")
	g.WantNote("pool tank: 110 MB/s read in 850 requests/s, 15.7 MB/s written in 150 requests/s, on average")
	g.WantNote("pool tank: a report's longest mean wait is 51ms for reads and 9ms for writes")
	g.WantNote("pool tank is 94 % full")
	g.WantNote("does not show how long a request takes on the disks")
	if g.Uses[lines.Foreign] > 0 || len(g.Faults) > 0 || g.Uses[lines.Used] != 6 || !g.IsState {
		t.Errorf("uses %v, faults %q, state %v", g.Uses, g.Faults, g.IsState)
	}
}

func TestOdd(t *testing.T) {
	const head = "pool        alloc   free   read  write   read  write\n"
	g := linestest.Read(t, tool(), head+"tank 1.2T 2.4T 412 88 51.5M\ntank 1.2T 2.4T 412 x 51.5M 9.1M\ntank 1.2T 2.4T 412 88 51.5M 9.1M\nand then it hung\n")
	if len(g.Faults) != 2 || g.Uses[lines.Foreign] != 1 {
		t.Errorf("faults %q, uses %v", g.Faults, g.Uses)
	}
	g.WantNote("since it was imported, not now")
	for _, other := range []string{"pool: tank", "pool alloc free", "the pool alloc free read write read write"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for zpool iostat", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
