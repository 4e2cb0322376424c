package nfsiostat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestIntervals(t *testing.T) {
	g := linestest.Fixture(t, tool(), "interval.txt")
	read, write := sample.Entity{Device: "/data", Class: "READ"}, sample.Entity{Device: "/data", Class: "WRITE"}
	g.Want(sample.NFSRequests, read, 40, 42)
	g.Want(sample.NFSTransmissions, read, 40, 42)
	g.Want(sample.NFSServerTime, read, 40*.097, 42*.095)
	g.Want(sample.NFSTime, read, 40*.098, 42*.0955)
	g.Want(sample.NFSQueueTime, read, 40*.0005, 42*.0003)
	g.Want(sample.NFSErrors, read, 3, 0)
	g.Want(sample.NFSReceived, read, 2560<<10, 2688<<10)
	g.Want(sample.NFSTime, write, 1.6, 0)
	g.Want(sample.MountFrom, sample.Entity{Device: "/data", Class: "filer:/vol/data"}, 1, 1)
	g.Want(sample.MountKind, sample.Entity{Device: "/data", Class: "nfs"}, 1, 1)
	if len(g.Ticks) != 2 || g.Ticks[0] != 2 {
		t.Errorf("intervals of %v s", g.Ticks)
	}
	g.WantNote("first report of nfsiostat")
}

// An old version puts each figure on a line of its own, and has no time in the queue.
func TestFigureALine(t *testing.T) {
	g := linestest.Fixture(t, tool(), "columns.txt")
	g.Want(sample.NFSTime, sample.Entity{Device: "/var/www", Class: "READ"}, .25*.044)
	g.Want(sample.NFSQueueTime, sample.Entity{Device: "/var/www", Class: "WRITE"}, .5*.023)
	g.WantNote("only report of nfsiostat")
	g.WantNote("no queue time")
}

func TestSentAgain(t *testing.T) {
	g := linestest.Read(t, tool(), "a:/b mounted on /c:\nread: ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)\n 10 2 3 3 (30.0%) 5 6\n")
	g.Want(sample.NFSRequests, sample.Entity{Device: "/c", Class: "READ"}, 10)
	g.Want(sample.NFSTransmissions, sample.Entity{Device: "/c", Class: "READ"}, 13)
}

func TestOthers(t *testing.T) {
	g := linestest.Read(t, tool(), "a:/b mounted on /c:\n ops/s rpc bklog\n 1 2 3\nread: ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)\n 1 2 3 0 (0.0%) 5\nsomething else\n")
	if g.Uses[lines.Broken] != 1 || len(g.Faults) != 1 || len(g.Values) != 3 {
		t.Errorf("uses %v, faults %q, values %v", g.Uses, g.Faults, g.Values)
	}
	for _, other := range []string{"device /dev/sda1 mounted on / with fstype ext4", "filer:/vol/data on /data type nfs", "it was mounted on /mnt: wrong", "/dev/sda1 mounted on /mnt:"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for nfsiostat", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
