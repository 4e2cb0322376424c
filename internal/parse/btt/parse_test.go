package btt

import (
	"math"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

// The report of the trace in ../blktrace/testdata: 60 reads and 40 writes.
func TestOneDevice(t *testing.T) {
	g := linestest.Fixture(t, tool(), "one.txt")
	loop := sample.Entity{Device: "7:0"}
	g.Want(sample.DiskWeighted, loop, 100*0.000037920)
	g.Want(sample.DiskBusy, loop, 100*0.000027567)
	g.WantNote("100 requests took 0.0379 ms each (at most 0.203 ms), of which the device had them for 0.0276 ms")
	g.WantNote("0 requests were in flight on 7:0")
	if len(g.Ticks) != 1 || math.Abs(g.Ticks[0]-100*(0.000027567+0.000116809)) > 1e-9 || len(g.Faults) > 0 || g.Uses[lines.Foreign] > 0 {
		t.Errorf("%v, %q, %v", g.Ticks, g.Faults, g.Uses)
	}
}

func TestBroken(t *testing.T) {
	g := linestest.Read(t, tool(), "==================== All Devices ====================\n ALL MIN AVG MAX N\nD2C 0.1 0.2\nQ2C 0.1 0.2 0.3 4\n==================== I/O Active Period Information ====================\n DEV | # Live\n ( 8, 16) | 10 0.1\n ( 8, 16) | 10 0.1 0.3 25.0\n")
	g.Want(sample.DiskBusy, sample.Entity{Device: "sdb"}, 1)
	if len(g.Faults) != 2 {
		t.Errorf("%q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
