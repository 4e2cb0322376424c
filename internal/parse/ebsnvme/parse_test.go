package ebsnvme

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestTwice(t *testing.T) {
	g := linestest.Fixture(t, tool(), "twice.txt")
	of := func(class string) sample.Entity { return sample.Entity{Device: "nvme1n1", Class: class} }
	g.Want(sample.CloudExceeded, of("volume operations"), 9.2)
	g.Want(sample.CloudExceeded, of("volume bytes"), 0)
	g.Want(sample.CloudExceeded, of("instance operations"), 0.1)
	g.Want(sample.CloudOps, of("read"), 30000)
	g.Want(sample.CloudTime, of("read"), 480)
	g.Want(sample.DiskReadBytes, of(""), 491520000)
	g.Want(sample.CloudQueue, of(""), 16)
	if len(g.Ticks) != 1 || g.Ticks[0] != 10 || g.Uses[lines.Foreign] > 0 {
		t.Errorf("ticks %v, uses %v", g.Ticks, g.Uses)
	}
}

func TestOnce(t *testing.T) {
	g := linestest.Read(t, tool(), "Total Ops\n  Read: 5\n  Write: 6\nEBS Volume Performance Exceeded (us)\n  IOPS: 7\n  Throughput: x\n")
	g.WantNote("paste them twice")
	if len(g.Values) != 0 || len(g.Faults) != 1 {
		t.Errorf("values %v, faults %q", g.Values, g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
