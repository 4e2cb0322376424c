package biosnoop

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestBiosnoop(t *testing.T) {
	g := linestest.Fixture(t, tool(), "biosnoop-queue.txt")
	g.Want(sample.BlockOps, sample.Entity{Device: "nvme1n1", Class: "write"}, 2)
	g.Want(sample.BlockOps, sample.Entity{Device: "nvme1n1", Class: "read"}, 2)
	g.Want(sample.BlockQueueTime, sample.Entity{PID: 22177, Device: "nvme1n1", Class: "write"}, .00011)
	g.Want(sample.BlockDeviceTime, sample.Entity{PID: 1061, Device: "nvme1n1", Class: "read"}, .00125)
	if g.Procs[22177].Comm != "my sync" || len(g.Ticks) != 2 {
		t.Errorf("%q, intervals %v", g.Procs[22177].Comm, g.Ticks)
	}
	linestest.Fixture(t, tool(), "biosnoop.txt").Want(sample.BlockBytes, sample.Entity{Device: "xvda1", Class: "write"}, 8192)
}

func TestOthers(t *testing.T) {
	g := linestest.Fixture(t, tool(), "biotop.txt")
	g.Want(sample.BlockOps, sample.Entity{Device: "xvda1", Class: "read"}, 361+1628)
	g.Want(sample.BlockDeviceTime, sample.Entity{PID: 14501, Device: "xvda1", Class: "read"}, 361*.00339)
	g = linestest.Fixture(t, tool(), "iosnoop.txt")
	g.Want(sample.DiskReadTime, sample.Entity{Device: "202:1"})
	g.WantNote("without its duration")
	h := g.Hists[linestest.Key{Metric: sample.HistDevice, Entity: sample.Entity{Device: "202:1", Class: "read"}}]
	if h.N() != 1 || h.Sum != 7.53e6 {
		t.Errorf("the latencies are %+v", h)
	}
	g = linestest.Read(t, tool(), "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 a 7 sda R 12 4096 0.74\n0.2 a 7 sda R 4096\n")
	if len(g.Faults) != 1 {
		t.Errorf("faults %q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
