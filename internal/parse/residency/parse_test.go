package residency

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func want(t *testing.T, g *linestest.Got, path string, pages float64, size int64) {
	t.Helper()
	for id, f := range g.Files {
		if f.Path == path {
			g.Want(sample.CacheResident, sample.Entity{File: id}, pages)
			if f.Size != size {
				t.Errorf("%s has %d bytes, want %d", path, f.Size, size)
			}
			return
		}
	}
	t.Errorf("%s is not among %v", path, g.Files)
}

func TestTools(t *testing.T) {
	g := linestest.Fixture(t, tool(), "fincore.txt")
	want(t, g, "/data/a", 499, 32<<20)
	want(t, g, "/data/b c", 262144, 2<<30)
	g.WantNote("/data/b c: 50 %")
	want(t, linestest.Fixture(t, tool(), "vmtouch.txt"), "/data/big", 262144, 2<<30)
}

// Columns in another order, without some, and JSON.
func TestFincoreOptions(t *testing.T) {
	for file, pages := range map[string]float64{"fincore-o.txt": 104 << 20 / 4096, "fincore-json.txt": 26576} {
		g := linestest.Fixture(t, tool(), file)
		want(t, g, "/var/tmp/load/load.0.0", pages, 256<<20)
		want(t, g, "/var/tmp/load/r", 1024, 4<<20)
		if len(g.Files) != 3 || len(g.Faults) > 0 {
			t.Errorf("%s: files %v, faults %q", file, g.Files, g.Faults)
		}
	}
	g := linestest.Read(t, tool(), "PAGES FILE\n 12 a b\n 13\nand so on\n")
	want(t, g, "a b", 12, 0)
	for _, other := range []string{"FILE", "SIZE FILE", "the FILE has PAGES", "FILE MODE RES"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for fincore's head", other)
		}
	}
}

func TestPcstat(t *testing.T) {
	g := linestest.Fixture(t, tool(), "pcstat.txt")
	want(t, g, "README.md", 2, 6768)
	want(t, g, "testfile3", 60, 102401024)
	g.WantNote("README.md: 100 %")
	if g.Uses[0] != 0 || len(g.Faults) != 0 {
		t.Errorf("uses %v, faults %q", g.Uses, g.Faults)
	}
	g = linestest.Fixture(t, tool(), "pcstat-terse.txt")
	want(t, g, "testfile3", 60, 102401024)
	g = linestest.Read(t, tool(), "│ Name │ Size (bytes) │ Pages │ Cached │ Percent │\n│ a│b │ 8192 │ 2 │ 1 │ 050.000 │\n│ c │ 8192 │ 2 │ 3 │\n│ d │ 8192\n")
	want(t, g, "a│b", 1, 8192)
	if len(g.Faults) != 2 {
		t.Errorf("faults %q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
