package iotop

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
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

// With times, without heads, and added up since iotop began.
func TestOptions(t *testing.T) {
	fio := sample.Entity{PID: 19377}
	for file, read := range map[string][]float64{
		"time.txt":        {1386.46 * 1024, 3.13 * (1 << 20)},
		"rows.txt":        {1148.41 * 1024, 3.12 * (1 << 20)},
		"accumulated.txt": {3.23*(1<<20) - 32*1024},
	} {
		t.Run(file, func(t *testing.T) {
			g := linestest.Fixture(t, tool(), file)
			g.Want(sample.ProcReadBytes, fio, read...)
			if len(g.Ticks) != 2 || len(g.Faults) > 0 || g.Uses[lines.Foreign] > 1 {
				t.Errorf("the intervals are %v, faults %q, lines %v", g.Ticks, g.Faults, g.Uses)
			}
			if g.Procs[19377].Comm != "fio" || g.Procs[2].Comm != "[kthreadd]" {
				t.Errorf("the processes are %v", g.Procs)
			}
		})
	}
	linestest.Fixture(t, tool(), "accumulated.txt").WantNote("shows totals")
	for _, prose := range []string{"it is be/4 here", "12 be/4 root and so on", "1 idle"} {
		if Find(prose) >= 0 {
			t.Errorf("%q is taken for a row", prose)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// Threads of the kernel keep their names, which have a slash.
func TestKernelThreads(t *testing.T) {
	g := linestest.Read(t, tool(), "Total DISK READ: 0.00 B/s | Total DISK WRITE: 1.00 M/s\n  TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n  412 be/3 root        0.00 B/s   12.00 K/s  0.00 % 99.99 % [jbd2/sda1-8]\n")
	if p := g.Procs[412]; p.Comm != "[jbd2/sda1-8]" || !p.Kernel {
		t.Errorf("the process is %+v", p)
	}
}
