package dstat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestDefault(t *testing.T) {
	g := linestest.Fixture(t, tool(), "default.txt")
	host := sample.Entity{}
	g.Want(sample.CPUIOWait, host, 4, 3.5)
	g.Want(sample.CPUIdle, host, .5, 1)
	g.Want(sample.VMPageIn, host, 2048<<10*5, 1024<<10*5)
	g.Want(sample.VMPageOut, host, 8192*5, 0)
	g.Want(sample.VMSwapIn, host, 1024*5, 512*5)
	g.Want(sample.VMSwapOut, host, 256*5, 0)
	g.Want(sample.ProcsBlocked, host, 7, 3)
	g.Want(sample.MemFree, host, 100<<20, 120<<20)
	g.Want(sample.MemCache, host, 300<<20, 280<<20)
	g.WantNote("first row of dstat")
}

// Disks by name touch each other in the head, and the times give the intervals.
func TestDisks(t *testing.T) {
	g := linestest.Fixture(t, tool(), "disks.txt")
	g.Want(sample.DiskReadBytes, sample.Entity{Device: "nvme0n1"}, 1.5*(1<<20)*2, 2.5*(1<<20)*2)
	g.Want(sample.DiskWriteBytes, sample.Entity{Device: "sda"}, 5744<<10*2, 3076<<10*2)
	g.Want(sample.CPUIOWait, sample.Entity{}, .8, 1)
	if len(g.Ticks) != 2 || g.Ticks[1] != 2 {
		t.Errorf("intervals of %v s", g.Ticks)
	}
}

// Groups of plugins are named by their disks alone.
func TestPlugins(t *testing.T) {
	g := linestest.Fixture(t, tool(), "service.txt")
	g.Want(sample.DiskWriteBytes, sample.Entity{Device: "sda"}, 5744<<10)
	g.Want(sample.DiskWriteBytes, sample.Entity{Device: "sda1"}, 5744<<10)
	if len(g.Values) != 4 {
		t.Errorf("values %v", g.Values)
	}
}

// Columns that nobody knows do no harm, and what is cut off is not read.
func TestOthers(t *testing.T) {
	g := linestest.Read(t, tool(), "----total-cpu-usage---- -dsk/total-\nusr sys idl wai hiq siq| read  writ\n  3   1  95   1   0   0|  52k  210k\n  3   1  9\n")
	if g.Uses[lines.Broken]+g.Uses[lines.Foreign] != 1 {
		t.Errorf("uses %v", g.Uses)
	}
	g.WantNote("only row of dstat")
	for _, other := range []string{"procs -----------memory---------- ---swap--", "--- a/dsk/total", "a -- b", "/dev/dsk/c0t0 - total"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for dstat", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
