package iotop

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestBatch(t *testing.T) {
	g := linestest.Fixture(t, tool(), "iotop.txt")
	e := sample.Entity{PID: 1234}
	g.Want(sample.ProcReadBytes, e, 2*8<<20, 2*4<<20)
	g.Want(sample.ProcBlkioDelay, e, 1.98, 1)
	if g.Procs[1234].Comm != "mongod" || len(g.Ticks) != 2 || g.Ticks[0] != 2 {
		t.Errorf("%q, intervals %v", g.Procs[1234].Comm, g.Ticks)
	}
	g = linestest.Read(t, tool(), "Total DISK READ: 0.00 B/s | Total DISK WRITE: 0.00 B/s\n 12 be/4 root 0.00 B/s 0.00 B/s 0.00 % 0.00 % a\n 13 be/4 root 0.00\n")
	g.WantNote("task_delayacct")
	if len(g.Faults) != 1 {
		t.Errorf("faults %q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
