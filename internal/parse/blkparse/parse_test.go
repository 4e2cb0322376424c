package blkparse

import (
	"os"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
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
	g.WantNote("the start of 1 completed requests is not in the text")
}

// In a format that the command tells, the same trace says the same.
func TestFormat(t *testing.T) {
	plain, err := os.ReadFile("../blktrace/testdata/blkparse")
	if err != nil {
		t.Fatal(err)
	}
	want := linestest.Read(t, tool(), string(plain))
	got := linestest.Fixture(t, tool(), "format.txt")
	for _, m := range []sample.Metric{sample.DiskReads, sample.DiskWrites, sample.DiskReadBytes, sample.DiskWriteBytes, sample.DiskReadTime} {
		k := sample.Entity{Device: "7:0"}
		got.Want(m, k, want.Values[linestest.Key{Metric: m, Entity: k}]...)
	}
	got.Want(sample.DiskReads, sample.Entity{Device: "7:0"}, 60, 0)
	if len(got.Faults) > 0 || got.Uses[lines.Foreign] > 0 {
		t.Errorf("%v, %q", got.Uses, got.Faults)
	}
	for _, command := range []string{`blkparse -f "%a %S\n" x`, "blkparse -i sda", `blkparse -f "%Q"`, `blkparse -f "%D`} {
		if Find(command) >= 0 {
			t.Errorf("%s is taken for a format that tells enough", command)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
