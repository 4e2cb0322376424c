package strace

import (
	"math"
	"strings"
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

// Calls in pieces, of several threads; what may be a pipe is no I/O.
func TestFollow(t *testing.T) {
	g := linestest.Fixture(t, tool(), "follow.txt")
	main := sample.Entity{PID: 11459}
	g.Want(sample.ProcReadCalls, main, 7)
	g.Want(sample.ProcReadChars, main, 505+505+4*4096)
	g.Want(sample.CallTime, sample.Entity{PID: 11459, Class: "read"}, 240e-6)
	g.Want(sample.WaitIO, sample.Entity{PID: 11500, Class: "sync"}, 1085e-6)
	g.Want(sample.CallTime, sample.Entity{PID: 11501, Class: "read"})
	g.Want(sample.CacheLongest, g.On(11459, "/data/f"), 43e-6)
	g.WantNote("system calls by their time: read 0.0506 s in 8 (longest 50.4 ms), clock_nanosleep 0.0501 s in 1")
	g.WantNote("5 reads and writes of 0.0505 s together are of descriptors")
	if len(g.Ticks) != 1 || math.Abs(g.Ticks[0]-0.871621) > 1e-6 || len(g.Faults) > 0 {
		t.Errorf("intervals %v, faults %q", g.Ticks, g.Faults)
	}
}

// With -y, descriptors have names.
func TestNamed(t *testing.T) {
	g := linestest.Fixture(t, tool(), "pid.txt")
	g.Want(sample.ProcWriteChars, sample.Entity{PID: 11654}, 4096)
	g.Want(sample.CallTime, sample.Entity{PID: 11654, Class: "write"}, 15e-6)
	g.Want(sample.WaitIO, sample.Entity{PID: 11654, Class: "sync"}, 0.010181)
	g.Want(sample.CacheSlow, g.On(11654, "/data/out.dat"), 1)
	g.Want(sample.CacheWait, g.On(11654, "/data/out.dat"), 0.010181)
	g.Want(sample.CallTime, sample.Entity{PID: 11660, Class: "read"}, 68e-6)
	for _, n := range g.Notes {
		if strings.Contains(n, "of descriptors") {
			t.Errorf("pipes are taken for what is not known: %s", n)
		}
	}
	if g.Procs[11654].Comm != "python3" || g.Uses[1] != 0 || len(g.Ticks) != 1 {
		t.Errorf("%v, %v, intervals %v", g.Procs, g.Uses, g.Ticks)
	}
}

func TestSummary(t *testing.T) {
	g := linestest.Fixture(t, tool(), "summary.txt")
	g.WantNote("most time: wait4 0.207 s in 80, newfstatat 0.0147 s in 1767")
	if len(g.Ticks) != 0 || len(g.Values) != 0 || len(g.Faults) != 0 {
		t.Errorf("values %v, faults %q", g.Values, g.Faults)
	}
}

// A thread shares the descriptors of the one that made it, a child has those
// of that moment.
func TestDescriptors(t *testing.T) {
	g := linestest.Read(t, tool(), `1 0.000000 clone(child_stack=NULL, flags=CLONE_VM|CLONE_FILES) = 2 <0.000010>
1 0.001000 openat(AT_FDCWD, "a \"b\") = 1", O_RDONLY) = 3 <0.000010>
2 0.001000 read(3, ") = 5 <0.1>", 10) = 10 <0.020000>
1 0.001000 fork() = 4 <0.000010>
1 0.001000 close(3) = 0 <0.000010>
2 0.001000 read(3, "", 10) = 0 <0.000010>
4 0.001000 read(3, "", 10) = 7 <0.000010>
4 0.001000 read(3, "
`)
	g.Want(sample.ProcReadChars, sample.Entity{PID: 2}, 10)
	g.Want(sample.ProcReadCalls, sample.Entity{PID: 2}, 1)
	g.Want(sample.ProcReadChars, sample.Entity{PID: 4}, 7)
	g.Want(sample.CacheSlow, g.On(2, `a \"b\") = 1`), 1)
	g.WantNote("1 reads and writes of 1e-05 s")
	if len(g.Faults) != 1 || len(g.Ticks) != 1 || math.Abs(g.Ticks[0]-0.022) > 1e-9 {
		t.Errorf("faults %q, intervals %v", g.Faults, g.Ticks)
	}
}

// Where most reads may be of files or not, nothing is said of waiting; a call
// that never ends is named.
func TestOpenQuestions(t *testing.T) {
	g := linestest.Read(t, tool(), "7 10:00:00.0 read(3, \"\", 1) = 1 <0.500000>\n8 10:00:01.0 fsync(3 <unfinished ...>\n7 10:00:02.0 close(3) = 0 <0.0>\n7 10:00:02.5 pread64(4, \"\", 1, 0) = 1 <0.001000>\n")
	g.WantNote("whether anybody waits for I/O is unknown")
	g.WantNote("process 8 is in fsync for 1.5 s when the text ends")
	if len(g.Values) != 0 {
		t.Errorf("%v", g.Values)
	}
	g = linestest.Read(t, tool(), "7 10:00:00.0 pipe2([3, 4], 0) = 0 <0.000010>\n7 10:00:00.1 read(3, \"\", 1) = 1 <0.500000>\n7 10:00:02.5 pread64(4</x>, \"\", 1, 0) = 1 <0.001000>\n")
	g.Want(sample.CallTime, sample.Entity{PID: 7, Class: "read"}, 0.001)
}

// What lacks a time gives no rates.
func TestWithoutTimes(t *testing.T) {
	g := linestest.Read(t, tool(), "pread64(3, \"\", 10, 0) = 10 <0.020000>\n")
	g.WantNote("no times of day")
	if len(g.Values) != 0 || len(g.Ticks) != 0 {
		t.Errorf("%v", g.Values)
	}
	g = linestest.Read(t, tool(), "10:00:00 pread64(3, \"\", 10, 0) = 10\n10:00:01 close(3) = 0\n")
	g.WantNote("no times of calls")
	if len(g.Values) != 0 || Find("x(1) = 2") >= 0 || Find("at 10:00 f(1) = 2") >= 0 {
		t.Errorf("%v", g.Values)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
