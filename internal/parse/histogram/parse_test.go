package histogram

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
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

// What other tools of bcc count the same way is no latency of a device.
func TestOthers(t *testing.T) {
	const rows = "     usecs : count distribution\n 0 -> 1 : 10 |**|\n 2 -> 3 : 30 |****|\n"
	g := linestest.Read(t, tool(), "Tracing ext4 operation latency... Hit Ctrl-C to end.\n\noperation = 'read'\n"+rows+"\noperation = b'write'\n"+rows)
	g.WantNote("histogram of the operation read: 40 values, on average about 0.0025 ms")
	g.WantNote("histogram of the operation write: 40 values")
	if len(g.Hists) > 0 {
		t.Errorf("%v", g.Hists)
	}
	g = linestest.Read(t, tool(), "Tracing run queue latency... Hit Ctrl-C to end.\n\n"+rows)
	g.WantNote("histogram of run queue latency: 40 values")
	g = linestest.Read(t, tool(), "Tracing run queue latency...\n\nTracing block device I/O... Hit Ctrl-C to end.\n\n"+rows)
	if h, ok := g.Hists[linestest.Key{Metric: sample.HistDevice}]; !ok || h.Counts[sample.Bucket(2000)] == 0 {
		t.Errorf("%v", g.Hists)
	}
}

// bitesize of bpftrace has a histogram for every process.
func TestBpftraceSizes(t *testing.T) {
	g := linestest.Fixture(t, tool(), "bitesize-bpftrace.txt")
	h := g.Hists[linestest.Key{Metric: sample.HistSize}]
	n := uint64(0)
	for _, c := range h.Counts {
		n += c
	}
	if n != 118 || h.Unit != "bytes" || len(g.Faults) > 0 || g.Uses[lines.Foreign] > 0 {
		t.Errorf("%d requests in %s, faults %q, lines %v", n, h.Unit, g.Faults, g.Uses)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
