package threads

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestHtop(t *testing.T) {
	g := linestest.Fixture(t, tool(), "htop.txt")
	g.Want(sample.ThreadsInState, sample.Entity{Class: "D"}, 10)
	g.Want(sample.ThreadsInState, sample.Entity{Class: "R"}, 5)
	g.Want(sample.ThreadsInState, sample.Entity{Class: "S"}, 1)
	g.WantNote("10 of 16 threads")
	g.WantNote("off-CPU stacks")
	if g.Procs[0].Comm != "memsqld" {
		t.Errorf("the threads are of %q", g.Procs[0].Comm)
	}
}

func TestOthers(t *testing.T) {
	for _, name := range []string{"top.txt", "ps.txt"} {
		g := linestest.Fixture(t, tool(), name)
		g.Want(sample.ThreadsInState, sample.Entity{Class: "D"}, 0)
		if n := g.Values[linestest.Key{Metric: sample.ThreadsInState, Entity: sample.Entity{Class: "S"}}]; len(n) != 1 || n[0] < 5 {
			t.Errorf("%s: %v threads sleep", name, n)
		}
	}
}

func TestSummary(t *testing.T) {
	const mib = 1 << 20
	g := linestest.Fixture(t, tool(), "top-summary.txt")
	g.Want(sample.MemTotal, sample.Entity{}, 24105.6*mib, 24105.6*mib)
	g.Want(sample.MemAvailable, sample.Entity{}, 23434.8*mib, 23434.9*mib)
	g.Want(sample.CPUIOWait, sample.Entity{}, .45) // not of the first screen
	g.Want(sample.ThreadsInState, sample.Entity{Class: "D"}, 0, 1)
	if len(g.Ticks) != 2 || g.Ticks[0] != 0 || g.Ticks[1] != 1 {
		t.Errorf("the intervals are %v, want 0 and 1", g.Ticks)
	}
	g = linestest.Fixture(t, tool(), "top-old.txt")
	g.Want(sample.CPUIOWait, sample.Entity{}, .45)
	g.Want(sample.CPUSystem, sample.Entity{}, .02)
	g.Want(sample.MemTotal, sample.Entity{}, 3664000<<10)
	g.Want(sample.SwapFree, sample.Entity{}, 1038572<<10)
	g.WantNote("since boot")
}

// Decimal commas, and the words of other languages.
func TestLanguages(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		file                   string
		user, idle, free, left float64
	}{
		{"top-fr_FR.txt", .5, 0, 19050.8, 23405.7}, {"top-es_ES.txt", .25, 0, 19115.7, 23490.6},
		{"top-pt_BR.txt", 0, 0, 19384.1, 23532.9}, {"top-de_DE.txt", 0, 0, 18985.6, 23344.2},
	} {
		t.Run(c.file, func(t *testing.T) {
			g := linestest.Fixture(t, tool(), c.file)
			g.Want(sample.CPUUser, sample.Entity{}, c.user)
			g.Want(sample.CPUSystem, sample.Entity{}, 1-c.user)
			g.Want(sample.CPUIdle, sample.Entity{}, c.idle)
			g.Want(sample.MemTotal, sample.Entity{}, 24103.9*mib)
			g.Want(sample.MemFree, sample.Entity{}, c.free*mib)
			g.Want(sample.MemAvailable, sample.Entity{}, c.left*mib)
			g.Want(sample.SwapTotal, sample.Entity{}, 0)
			if n := g.Values[linestest.Key{Metric: sample.ThreadsInState, Entity: sample.Entity{Class: "S"}}]; len(n) != 1 || n[0] == 0 {
				t.Errorf("%v threads sleep", n)
			}
		})
	}
}

// Lists without processes, with addresses, and below one line for each processor.
func TestColumns(t *testing.T) {
	for file, sleep := range map[string]float64{"ps-el.txt": 10, "ps-state.txt": 10, "top-1.txt": 5} {
		g := linestest.Fixture(t, tool(), file)
		if n := g.Values[linestest.Key{Metric: sample.ThreadsInState, Entity: sample.Entity{Class: "S"}}]; len(n) != 1 || n[0] < sleep || g.Uses[lines.Foreign]+g.Uses[lines.Broken] > 0 {
			t.Errorf("%s: %v threads sleep, the lines are %v", file, n, g.Uses)
		}
	}
}

// A connection has a state and a process, too.
func TestConnections(t *testing.T) {
	if Find("TIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE") >= 0 {
		t.Error("the head of tcpretrans is taken for a list of threads")
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// The lines of single processors add up, one or two in a line.
func TestProcessorLines(t *testing.T) {
	g := linestest.Read(t, tool(), "top - 10:00:00 up 1 day,  1:00,  1 user,  load average: 3.00, 3.00, 3.00\nTasks: 100 total,   1 running\n"+
		"%Cpu0  :  5.0 us,  1.0 sy,  0.0 ni, 14.0 id, 80.0 wa,  0.0 hi,  0.0 si,  0.0 st   %Cpu1  :  3.0 us,  1.0 sy,  0.0 ni, 96.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n"+
		"%Cpu2  :  2.0 us,  0.0 sy,  0.0 ni, 58.0 id, 40.0 wa,  0.0 hi,  0.0 si,  0.0 st\nMiB Mem :  24105.6 total,  20000.0 free,   1000.0 used,   3000.0 buff/cache\n")
	g.Want(sample.CPUCount, sample.Entity{}, 3)
	g.Want(sample.CPUIOWait, sample.Entity{}, 1.2)
	g.Want(sample.CPUIdle, sample.Entity{}, 1.68)
}

// BusyBox has a summary of its own, and a state for what is swapped out or has no memory.
func TestBusyBox(t *testing.T) {
	g := linestest.Fixture(t, tool(), "busybox.txt")
	g.Want(sample.MemTotal, sample.Entity{}, 128084<<10, 128084<<10)
	g.Want(sample.MemFree, sample.Entity{}, 7728<<10, 7684<<10)
	g.Want(sample.MemCache, sample.Entity{}, 62216<<10, 62216<<10)
	g.Want(sample.CPUIOWait, sample.Entity{}, .83, .90)
	g.Want(sample.CPUSystem, sample.Entity{}, .12, .06)
	g.Want(sample.ThreadsInState, sample.Entity{Class: "D"}, 2, 1)
	g.Want(sample.ThreadsInState, sample.Entity{Class: "S"}, 3, 4)
	if len(g.Ticks) != 2 || g.Uses[lines.Broken] > 0 {
		t.Errorf("the intervals are %v, want 2; the lines are %v", g.Ticks, g.Uses)
	}
	g = linestest.Read(t, tool(), "Mem: 1x356K used, 7728K free, 88K shrd\nCPU:  75% usr  2a% sys   0% nic   0% idle\n"+
		"CPU0:  70% usr  10% sys   0% nic   0% idle  20% io   0% irq   0% sirq\nCPU1:  30% usr  10% sys   0% nic  20% idle  40% io   0% irq   0% sirq\n")
	if g.Uses[lines.Broken] != 2 {
		t.Errorf("the lines are %v, want two that are broken", g.Uses)
	}
	g.Want(sample.CPUCount, sample.Entity{}, 2)
	g.Want(sample.CPUIOWait, sample.Entity{}, .6)
}

// What kswapd uses of a processor is told screen by screen, and what other threads of
// the kernel use in a note; ps shows shares since the start of a process, which are
// neither.
func TestThreadsOfTheKernel(t *testing.T) {
	g := linestest.Fixture(t, tool(), "top-kswapd.txt")
	g.Want(sample.ProcSystem, sample.Entity{PID: 57}, .977)
	g.WantNote("threads of the kernel used: kswapd0 99 %, jbd2/vda1-8 12 %")
	if p := g.Procs[57]; p.Comm != "kswapd0" || !p.Kernel {
		t.Errorf("57 is %+v", p)
	}
	for name, is := range map[string]bool{"md0_raid5": true, "md127_resync": true, "md5sum": false, "mdadm": false, "kswapd1": true, "kworker/u8:2-flush-8:0": true, "kwin": false} {
		if worksForKernel(name) != is {
			t.Errorf("%s works for the kernel: %t", name, !is)
		}
	}
	g = linestest.Read(t, tool(), "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nroot 57 99.0 0.0 0 0 ? R 10:00 12:00 [kswapd0]\n")
	if n := g.Values[linestest.Key{Metric: sample.ProcSystem, Entity: sample.Entity{PID: 57}}]; n != nil {
		t.Errorf("kswapd's share since it was started is taken for %v", n)
	}
}
