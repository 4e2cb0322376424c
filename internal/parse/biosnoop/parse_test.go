package biosnoop

import (
	"testing"

	"iocause/internal/parse/lines"
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

// Of bpftrace, in three versions: neither bytes nor operations are told.
func TestBpftrace(t *testing.T) {
	g := linestest.Read(t, tool(), "Attaching 4 probes...\nTIME(ms)     DISK    COMM             PID    LAT(ms)\n"+
		"611          nvme0n1 bash             4179        10\n627          nvme0n1 my cksum         4179        15\n1850         nvme0n1 cksum            4179       300\n")
	vol := sample.Entity{Device: "nvme0n1"}
	g.Want(sample.DiskWeighted, vol, .025, .3)
	h := g.Hists[linestest.Key{Metric: sample.HistDevice, Entity: vol}]
	if h.N() != 3 || h.Sum != 325e6 || len(g.Ticks) != 2 || len(g.Faults) > 0 || g.Procs[4179].Comm == "" {
		t.Errorf("latencies %+v, intervals %v, faults %q", h, g.Ticks, g.Faults)
	}
	g.WantNote("neither bytes nor whether")
	g = linestest.Read(t, tool(), "TIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n611          259   0        bash             4179        10\n611          259   x\n")
	g.Want(sample.DiskWeighted, sample.Entity{Device: "259:0"}, .01)
	if len(g.Faults) != 0 || g.Uses[lines.Used] != 2 {
		t.Errorf("faults %q, uses %v", g.Faults, g.Uses)
	}
	g = linestest.Read(t, tool(), "TIME(ms)     COMM             PID    LAT(ms)\n611          bash             4179        x10\n")
	if len(g.Faults) != 1 {
		t.Errorf("faults %q, want one", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
