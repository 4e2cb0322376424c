package mountstats

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestTwice(t *testing.T) {
	g := linestest.Fixture(t, tool(), "twice.txt")
	read := sample.Entity{Device: "/home", Class: "READ"}
	g.Want(sample.NFSRequests, read, 100)
	g.Want(sample.NFSTransmissions, read, 100)
	g.Want(sample.NFSQueueTime, read, 0.002)
	g.Want(sample.NFSServerTime, read, 9)
	g.Want(sample.NFSTime, read, 9.1)
	g.Want(sample.MountFrom, sample.Entity{Device: "/home", Class: "filer:/vol/home"}, 1)
	if len(g.Ticks) != 1 || g.Ticks[0] != 10 || len(g.Notes) != 0 || len(g.Values) != 3+6 {
		t.Errorf("ticks %v, notes %q, values %v", g.Ticks, g.Notes, g.Values)
	}
}

func TestOfTheTool(t *testing.T) {
	g := linestest.Fixture(t, tool(), "tool.txt")
	read := sample.Entity{Device: "/data", Class: "READ"}
	g.Want(sample.NFSRequests, read, 4000)
	g.Want(sample.NFSTransmissions, read, 4040)
	g.Want(sample.NFSTimeouts, read, 3)
	g.Want(sample.NFSServerTime, read, 86)
	g.Want(sample.NFSTime, sample.Entity{Device: "/data", Class: "GETATTR"}, 0.741)
	g.WantNote("since each file system was mounted")
	if len(g.Ticks) != 1 || g.Ticks[0] != 93784 || g.Uses[lines.Foreign] > 0 {
		t.Errorf("ticks %v, uses %v", g.Ticks, g.Uses)
	}
}

func TestOthers(t *testing.T) {
	for _, other := range []string{"device rootfs mounted on / with fstype rootfs", "Stats for the week:", "sda1 mounted on /data"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for NFS statistics", other)
		}
	}
	g := linestest.Read(t, tool(), "device a:/b mounted on /c with fstype nfs statvers=1.1\n\tage: 5\nand then it was slow\n")
	if g.Uses[lines.Foreign] != 1 {
		t.Errorf("uses %v", g.Uses)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
