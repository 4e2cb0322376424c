package residency

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines/linestest"
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

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
