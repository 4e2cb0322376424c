package prometheus

import (
	"math"
	"strings"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

const wal = "etcd_disk_wal_fsync_duration_seconds"

func TestSyncs(t *testing.T) {
	g := linestest.Fixture(t, tool(), "etcd.txt")
	h, ok := g.Hists[linestest.Key{Metric: sample.HistSync, Entity: sample.Entity{Class: wal}}]
	if !ok || len(g.Hists) != 1 {
		t.Fatalf("histograms %v", g.Hists)
	}
	if h.N() != 20000 || math.Abs(h.Sum-211.5e9) > 1 {
		t.Errorf("%d syncs of %g ns, want 20000 of 211.5 s", h.N(), h.Sum)
	}
	// 19,500 take at most 16 ms, 19,900 at most 32 ms
	if p := h.Quantile(.99) / 1e6; p < 16 || p > 34 {
		t.Errorf("99 %% take at most %g ms", p)
	}
	if g.Procs[0].Comm != "etcd" {
		t.Errorf("processes %v", g.Procs)
	}
}

// Labels part the histograms of several members, and a number may be written
// with an exponent.
func TestLabels(t *testing.T) {
	text := wal + `_bucket{instance="a:1",le="0.001"} 1.5e+02` + "\n" + wal + `_bucket{instance="a:1",le="+Inf"} 200` + "\n" +
		wal + `_bucket{instance="b:1",le="0.001"} 10` + "\n"
	g := linestest.Read(t, tool(), text)
	for labels, n := range map[string]uint64{`instance="a:1"`: 200, `instance="b:1"`: 10} {
		h := g.Hists[linestest.Key{Metric: sample.HistSync, Entity: sample.Entity{Class: wal + " " + labels}}]
		if h.N() != n {
			t.Errorf("%s has %d syncs, want %d", labels, h.N(), n)
		}
	}
	g.WantNote("above 0.001 s is not in the text")
}

// The same histogram at another time is another output, and one whose counts
// fall is not used.
func TestDamage(t *testing.T) {
	g := linestest.Read(t, tool(), strings.Repeat(wal+"_bucket{le=\"0.001\"} 5\n", 2))
	if g.Uses[lines.Another] != 1 || g.Uses[lines.Used] != 1 {
		t.Errorf("uses %v", g.Uses)
	}
	g = linestest.Read(t, tool(), wal+"_bucket{le=\"0.001\"} 50\n"+wal+"_bucket{le=\"0.002\"} 6\n")
	if len(g.Hists) != 0 || g.Doubts != 1 {
		t.Errorf("histograms %v, %d doubts", g.Hists, g.Doubts)
	}
	for _, other := range []string{"fsync_duration of the disk", "etcd_disk_fsync_total 5", "it calls fsync_range()", wal + "_bucket{le=\"0.00"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for a histogram", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// A bucket may have an exemplar behind its value (OpenMetrics).
func TestExemplars(t *testing.T) {
	const name = "x_fsync_duration_seconds_bucket{le=\""
	g := linestest.Read(t, tool(), name+"0.004\"} 0\n"+name+"0.008\"} 9000 # {trace_id=\"ab\"} 0.0071 1.7e9\n"+name+"0.016\"} 9000\n"+name+"+Inf\"} 9000\n")
	for _, h := range g.Hists {
		if n := h.Counts[23] + h.Counts[24]; n > 0 { // 2^23 ns is 8.4 ms
			t.Errorf("%d of 9000 syncs take more than 8 ms", n)
		}
	}
	if len(g.Hists) != 1 {
		t.Errorf("%d histograms", len(g.Hists))
	}
}
