package jstack

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestMonitors(t *testing.T) {
	g := linestest.Fixture(t, tool(), "jstack-l.txt")
	g.WantNote("of 14 Java threads at one instant: 5 RUNNABLE (36 %), 3 BLOCKED (21 %), 3 WAITING (21 %), 3 TIMED_WAITING (21 %); 8 threads of the JVM itself")
	g.WantNote(`3 threads are blocked on the monitor 0x000000069eb00da8 (java.lang.Object), held by "holder \"x\""`)
	g.WantNote(`1 threads are parked for the lock 0x000000069eb07c40 (java.util.concurrent.locks.ReentrantLock$NonfairSync), held by "main"`)
	if len(g.Notes) != 4 || !g.IsState || len(g.Faults) != 0 {
		t.Errorf("notes %q, faults %q", g.Notes, g.Faults)
	}
}

// A deadlock is named once, and its threads are not counted again.
func TestDeadlock(t *testing.T) {
	g := linestest.Fixture(t, tool(), "jcmd.txt")
	g.WantNote("Found one Java-level deadlock; threads")
	g.WantNote("1 threads are in a call on a file: java.io.FileDescriptor.sync 1")
	g.WantNote(`1 threads are blocked on the monitor 0x000000069ec0c5d8 (java.lang.Object), held by "one"`)
	g.WantNote("2 BLOCKED")
	if len(g.Faults) != 0 || g.Uses[0] != 0 {
		t.Errorf("uses %v, faults %q", g.Uses, g.Faults)
	}
}

// One who waits on an object has let go of it; lines may be cut.
func TestCut(t *testing.T) {
	g := linestest.Read(t, tool(), `Full thread dump x
"a" #1 prio=5 tid=0x1 nid=1 in Object.wait()
   java.lang.Thread.State: WAITING (on object monitor)
	at x.y(z)
	- waiting on <0x1> (a q)
	- locked <0x1> (a q)
"b" #2 prio=5 tid=0x2 nid=2
   java.lang.Thread.State: BLOCKED (on object monitor)
	- waiting to lock <0x1> (a q)
"c
   java.lang.Thread.State: SOMETHING
	- locked <0x
`)
	g.WantNote("1 threads are blocked on the monitor 0x1 (q), held by a thread that the dump does not show")
	g.WantNote("of 2 Java threads")
	if len(g.Faults) != 3 {
		t.Errorf("faults %q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
