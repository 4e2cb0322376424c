package diskstats

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestTwoLooks(t *testing.T) {
	g := linestest.Fixture(t, tool(), "twice.txt")
	for m, want := range map[sample.Metric]float64{
		sample.DiskReads: 300, sample.DiskReadBytes: 2400 * 512, sample.DiskReadTime: 3, sample.DiskWrites: 1,
		sample.DiskWriteTime: .02, sample.DiskBusy: 2, sample.DiskWeighted: 3.02,
	} {
		g.Want(m, sample.Entity{Device: "sda"}, want, 0)
		g.Want(m, sample.Entity{Device: "sda1"})
		g.Want(m, sample.Entity{Device: "nvme0n1"}, 0, 0)
	}
	if len(g.Ticks) != 1 || g.Ticks[0] != 2 {
		t.Errorf("the intervals are %v, want 2 s", g.Ticks)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
