package histogram

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func want(t *testing.T, g *linestest.Got, m sample.Metric, e sample.Entity, n uint64, median [2]float64) {
	t.Helper()
	h, ok := g.Hists[linestest.Key{Metric: m, Entity: e}]
	if !ok || h.N() != n {
		t.Errorf("%s of %+v holds %d, want %d", m, e, h.N(), n)
	}
	if q := h.Quantile(0.5); q < median[0] || q > median[1] {
		t.Errorf("the median is %g, want %g to %g", q, median[0], median[1])
	}
}

func TestBiolatency(t *testing.T) {
	g := linestest.Fixture(t, tool(), "biolatency.txt")
	want(t, g, sample.HistDevice, sample.Entity{}, 10328, [2]float64{32e6, 64e6})
	g = linestest.Fixture(t, tool(), "biolatency-bpftrace.txt")
	want(t, g, sample.HistDevice, sample.Entity{}, 668, [2]float64{1024e3, 2048e3})
	g = linestest.Fixture(t, tool(), "iolatency.txt")
	want(t, g, sample.HistDevice, sample.Entity{}, 4395, [2]float64{4e5, 6e5})
	g = linestest.Fixture(t, tool(), "biolatency-disks.txt")
	want(t, g, sample.HistDevice, sample.Entity{Device: "xvdb"}, 7, [2]float64{128e3, 256e3})
	want(t, g, sample.HistDevice, sample.Entity{Device: "xvdc"}, 9, [2]float64{256e3, 512e3})
}

func TestBitesize(t *testing.T) {
	g := linestest.Fixture(t, tool(), "bitesize.txt")
	want(t, g, sample.HistSize, sample.Entity{}, 1758, [2]float64{128 << 10, 256 << 10})
	if g.Procs[0].Comm != "java" {
		t.Errorf("the I/O is of %q, want java", g.Procs[0].Comm)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
