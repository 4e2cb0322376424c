package slower

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestFileslower(t *testing.T) {
	g := linestest.Fixture(t, tool(), "fileslower.txt")
	data := g.On(6925, "data1")
	g.Want(sample.CacheWait, data, 0.0153)
	g.Want(sample.CacheSlow, data, 1)
	g.Want(sample.CacheLongest, data, 0.0105)
	g.Want(sample.CacheWait, sample.Entity{PID: 1892}, 0.00365)
	g.Want(sample.CallTime, sample.Entity{PID: 6925, Class: "read"}) // of slow ones only: not known
	g.WantNote("slower than 1 ms, in 1.45 s: 4 reads of 3.83 ms on average, 10.5 ms at most; 1 writes")
	g.WantNote("81 % of their time is of data1, by process 6925")
	if g.Procs[6925].Comm != "randread.pl" || len(g.Ticks) != 1 || g.Ticks[0] != 1.448 {
		t.Errorf("%q, intervals %v", g.Procs[6925].Comm, g.Ticks)
	}
}

func TestOfFileSystems(t *testing.T) {
	g := linestest.Fixture(t, tool(), "ext4slower.txt")
	g.Want(sample.CacheSlow, sample.Entity{PID: 16464}, 1)
	g.Want(sample.CacheWait, g.On(16546, "Universal"), 0.03294)
	g.WantNote("slower than 10 ms, in 1 s: 4 reads of 19.4 ms")

	g = linestest.Fixture(t, tool(), "xfsslower0.txt") // all of them
	g.Want(sample.ProcReadCalls, sample.Entity{PID: 9503}, 3)
	g.Want(sample.ProcReadChars, sample.Entity{PID: 9503}, 3*65536)
	g.Want(sample.CallTime, sample.Entity{PID: 9503, Class: "read"}, 90e-6)
	g.Want(sample.CallTime, sample.Entity{Class: "write"}, 10e-6)
	g.WantNote("all accesses to files, in 3 s")

	g = linestest.Fixture(t, tool(), "btrfsslower.txt")
	g.Want(sample.CacheLongest, g.On(2717, "data1"), 0.024762)
	g.WantNote("an unknown limit, in 0.0756 s: 3 reads of 10.1 ms")
}

// Names of commands and files hold what separates columns; midnight passes.
func TestHostile(t *testing.T) {
	const head = "TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n"
	g := linestest.Read(t, tool(), head+"23:59:59 a 7 R b 12 S LL_MAX 0  20.00 my  file 1\n00:00:01 x 12 W -5 0 30.00 y\n00:00:02 x 12 W 5\n")
	file := g.On(12, "my  file 1")
	g.Want(sample.CacheWait, file, 0.02)
	if len(g.Ticks) != 1 || g.Ticks[0] != 2 || len(g.Faults) != 1 || len(g.Procs) != 1 {
		t.Errorf("intervals %v, faults %q, processes %v", g.Ticks, g.Faults, g.Procs)
	}
	g = linestest.Read(t, tool(), "ENDTIME_ns,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE\n1000000000,a,b,12,F,LL_MAX,0,1500,x,y z\n3000000000,a,b,12,O,0,0,1500,\n")
	g.Want(sample.CacheWait, g.On(12, "x,y z"), 0.0015)
	if g.Procs[12].Comm != "a,b" || len(g.Faults) != 1 {
		t.Errorf("%q, faults %q", g.Procs[12].Comm, g.Faults)
	}
}

// nfsslower asks for attributes as well.
func TestAttributes(t *testing.T) {
	g := linestest.Read(t, tool(), "ENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE\n1000,dd,7,W,4096,0,425,a\n2000,cp,8,G,0,0,371,a\n")
	g.WantNote("1 getattrs of 0.371 ms on average")
	if len(g.Faults) > 0 {
		t.Errorf("%q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
