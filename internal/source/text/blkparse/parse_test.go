package blkparse

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestEvents(t *testing.T) {
	g := linestest.Fixture(t, tool(), "default.txt")
	read := sample.Entity{Device: "sda", Class: "read"}
	sum := func(m sample.Metric, e sample.Entity, want ...float64) { // values and the zeros that mark their last lines
		t.Helper()
		for i := range want {
			want = append(want[:2*i+1], append([]float64{0}, want[2*i+1:]...)...)
		}
		g.Want(m, e, want...)
	}
	sum(sample.BlockOps, read, 1, 1)
	sum(sample.BlockBytes, read, 16384, 16384)
	sum(sample.BlockQueueTime, read, 0.0001, 0.0001)
	sum(sample.BlockDeviceTime, read, 0.004, 0.002)
	sum(sample.BlockDeviceTime, sample.Entity{PID: 697, Device: "sda", Class: "write"}, 0.002)
	sum(sample.BlockDepthOps, sample.Entity{Device: "sda", Class: "read 16384 2"}, 1)
	sum(sample.BlockDepthOps, sample.Entity{Device: "sda", Class: "read 16384 1"}, 1)
	sum(sample.DiskReadTime, sample.Entity{Device: "sda"}, 0.0041, 0.0021)
	if g.Procs[900].Comm != "my reader" || len(g.Ticks) != 2 || g.Ticks[1] < 0.59 || g.Ticks[1] > 0.61 {
		t.Errorf("%q, intervals %v", g.Procs[900].Comm, g.Ticks)
	}
	g.WantNote("the beginning of 1 completed requests is not in the text")
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
