package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// window of a host where waits are put by put.
func calmWindow(put func(*sample.Recorder)) *sample.Window {
	r := sample.NewRecorder(epoch)
	r.PutProcess(7, sample.Process{Comm: "store", MemoryCgroup: "/a"})
	r.PutProcess(8, sample.Process{Comm: "store", MemoryCgroup: "/a"})
	r.PutProcess(9, sample.Process{Comm: "backup", MemoryCgroup: "/b"})
	r.Put(sample.LockWait, sample.Entity{}, 0, "test")
	put(r)
	return r.Window(epoch.Add(10 * time.Second))
}

// What is not known is said, and where the answer comes from.
func TestTitleOfWhatIsNotKnown(t *testing.T) {
	gaps := func(r *sample.Recorder) {
		r.PutGap(sample.Gap{Why: "pagecache: opening the page-cache probe: loading: not permitted", Metrics: []sample.Metric{sample.WaitIO}})
		r.PutGap(sample.Gap{Why: "off: sysctl kernel.task_delayacct=1", Metrics: []sample.Metric{sample.ProcBlkioDelay}})
	}
	r := Judge(calmWindow(func(r *sample.Recorder) {
		gaps(r)
		r.Put(sample.PSISome, sample.Entity{Class: "io"}, 0.001, "/proc/pressure/io")
		r.Put(sample.PSISome, sample.Entity{Class: "cpu"}, 5, "/proc/pressure/cpu")
	}), Target{})
	if r.Primary != Unknown || !strings.HasPrefix(r.Title, "no problem seen, ") || len(r.Doubts) != 0 {
		t.Errorf("%s: %q, doubts %q", r.Primary, r.Title, r.Doubts)
	}
	if !strings.Contains(r.Blind, "kernel.task_delayacct=1") || !strings.HasSuffix(r.Blind, "the reason: not permitted") {
		t.Errorf("blind: %q", r.Blind)
	}
	r = Judge(calmWindow(func(r *sample.Recorder) {
		gaps(r)
		r.Put(sample.PSISome, sample.Entity{Class: "cpu"}, 5, "/proc/pressure/cpu")
		r.Put(sample.PSISome, sample.Entity{Class: "io"}, 3, "/proc/pressure/io")
		r.Put(sample.DiskBusy, sample.Entity{Device: "vda"}, 5, "/proc/diskstats")
	}), Target{})
	doubts := strings.Join(r.Doubts, "; ")
	if r.Primary != Unknown || !strings.Contains(doubts, "30 %") || !strings.Contains(doubts, "/proc/pressure/io") || !strings.Contains(doubts, "vda") {
		t.Errorf("%s: doubts %q", r.Primary, doubts)
	}
}

// Programs of which each waits for a little more than a tenth of its time awake are
// in doubt where the kernel saw somebody wait for much of the window; those that wait
// for less from a quarter of the window on, unless it saw the kernel's own threads. What
// is in doubt names who waits.
func TestDoubtOfManyThatWaitALittle(t *testing.T) {
	for _, c := range []struct {
		pressure, cpu, kernel float64
		primary               ID
	}{
		{0.05, 2, 0, Healthy}, {0.3, 2, 0, Unknown},
		{0.24, 8, 0, Healthy}, {0.26, 8, 0, Unknown}, {0.44, 8, 0, Unknown},
		{0.44, 8, 4, Healthy}, {0.44, 8, 1, Unknown},
	} {
		m := newMachine()
		for pid := 100; pid < 115; pid++ {
			m.process(pid, "tool"+string(rune('a'+pid-100)), "read", thread{wait: 0.4, cpu: c.cpu})
		}
		m.PutProcess(50, sample.Process{Comm: "kworker/u4:1", Kernel: true})
		m.put(sample.WaitIO, sample.Entity{PID: 50, Class: "other"}, c.kernel)
		m.put(sample.PSISome, sample.Entity{Class: "io"}, c.pressure*testSeconds)
		r := m.judge()
		if r.Primary != c.primary || c.primary == Unknown && (len(r.Doubts) == 0 || len(r.Waiters) == 0) {
			t.Errorf("%+v: %s, doubts %q, %d waiters", c, r.Primary, r.Doubts, len(r.Waiters))
		}
	}
}

// Every report lists who was held up longest; processes of one program count as one.
func TestWaiters(t *testing.T) {
	r := Judge(calmWindow(func(r *sample.Recorder) {
		for _, w := range []struct {
			pid   int
			class string
			t     float64
		}{{7, "sync", 0.2}, {8, "sync", 0.3}, {8, "read", 0.05}, {9, "read", 0.04}} {
			r.Put(sample.WaitIO, sample.Entity{PID: w.pid, Class: w.class}, w.t, "test")
			r.Put(sample.WaitThreads, sample.Entity{PID: w.pid}, 1, "test")
		}
		for pid := 7; pid <= 9; pid++ {
			r.Put(sample.ProcUser, sample.Entity{PID: pid}, 4, "test")
		}
	}), Target{})
	if r.Primary != Healthy || len(r.Waiters) != 2 {
		t.Fatalf("%s, waiters %+v", r.Primary, r.Waiters)
	}
	w := r.Waiters[0]
	if w.Who.Comm != "store" || w.Who.PID != 8 || w.Processes != 2 || w.Seconds < 0.549 || w.Seconds > 0.551 || w.In[0].What != "sync" || w.Share < 0.06 || w.Share > 0.07 {
		t.Errorf("first %+v", w)
	}
	if w := r.Waiters[1]; w.Who.PID != 9 || w.Processes != 1 {
		t.Errorf("second %+v", w)
	}
}

// Who waits beside the victim has a cause of its own.
func TestOthers(t *testing.T) {
	r := Judge(calmWindow(func(r *sample.Recorder) {
		r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "sync"}, 9, "test")
		r.Put(sample.WaitDirtyPause, sample.Entity{PID: 9}, 5, "test")
		r.Put(sample.DirtyPauses, sample.Entity{PID: 9}, 50, "test")
		r.Put(sample.WaitIO, sample.Entity{PID: 9, Class: "sync"}, 1, "test")
		for _, pid := range []int{7, 9} {
			r.Put(sample.WaitThreads, sample.Entity{PID: pid}, 1, "test")
			r.Put(sample.ProcUser, sample.Entity{PID: pid}, 0.5, "test")
		}
		r.Put(sample.VMDirtyLimit, sample.Entity{}, 1e6, "test")
		r.Put(sample.VMDirtyBg, sample.Entity{}, 5e5, "test")
		r.Put(sample.MemDirty, sample.Entity{}, 9e5, "test")
		r.Put(sample.MemWriteback, sample.Entity{}, 0, "test")
	}), Target{})
	if r.Primary != "sync-writes" || r.Victim.PID != 7 || r.VictimWaits == nil || r.VictimWaits.Seconds != 9 {
		t.Fatalf("%s, victim %+v", r.Primary, r.VictimWaits)
	}
	if len(r.Others) != 1 || r.Others[0].Waiter.Who.PID != 9 || r.Others[0].Cause != "dirty-throttling" {
		t.Errorf("others %+v", r.Others)
	}
}

// Who sleeps uninterruptibly, in functions that nobody has a name for, is not well for
// sure, nor does it sleep for a timer.
func TestUnnamedWaitsAreADoubt(t *testing.T) {
	for seconds, want := range map[float64]ID{0.05 * testSeconds: Healthy, 0.9 * testSeconds: Unknown} {
		m := newMachine()
		m.process(7, "zpool", "read", thread{cpu: 0.05 * testSeconds})
		m.Put(sample.WaitUnnamed, sample.Entity{PID: 7}, seconds, "test")
		r := Judge(m.Window(epoch.Add(time.Duration(testSeconds*float64(time.Second)))), Target{PIDs: []int{7}})
		if r.Primary != want || want == Unknown && !strings.Contains(strings.Join(r.Doubts, ""), "zpool slept 9.0 s of 10.0 s uninterruptibly") {
			t.Errorf("%g s: %s, %q", seconds, r.Primary, r.Doubts)
		}
	}
}

// A program that keeps to a rate, or is asked seldom, is not slow for anything here:
// that it sleeps is the answer to why it takes so long.
func TestAProgramThatSleepsIsSaidTo(t *testing.T) {
	for _, c := range []struct {
		awake thread
		want  string
	}{
		{thread{cpu: 0.05 * testSeconds, delay: 0.01 * testSeconds}, "; the program sleeps at least 94 % of the time"},
		{thread{cpu: 0.70 * testSeconds}, ""},
	} {
		m := newMachine()
		m.process(7, "rsync", "read", c.awake)
		w := m.Window(epoch.Add(time.Duration(testSeconds * float64(time.Second))))
		for _, asked := range []Target{{PIDs: []int{7}}, {Comm: "rsync"}, {}} {
			r := Judge(w, asked)
			said := strings.Contains(r.Title, "sleeps")
			if r.Primary != Healthy || said != (c.want != "" && asked.Comm+fmt.Sprint(asked.PIDs) != "[]") || said && !strings.Contains(r.Title, c.want) {
				t.Errorf("%+v, asked about %+v: %s, %q", c.awake, asked, r.Primary, r.Title)
			}
		}
	}
}

// Nor is one that did nothing at all, of which no figure is there.
func TestAProgramThatDidNothingIsSaidTo(t *testing.T) {
	m := newMachine()
	m.process(7, "rsync", "read", thread{cpu: 0.05 * testSeconds})
	w := m.Window(epoch.Add(time.Duration(testSeconds * float64(time.Second))))
	const want = "; the program sleeps all the time, for a timer, the network or another program, or it is stopped"
	if r := Judge(w, Target{PIDs: []int{8}}); r.Primary != Healthy || !strings.Contains(r.Title, want) {
		t.Errorf("%s, %q, want %q", r.Primary, r.Title, want)
	}
	if r := Judge(w, Target{Comm: "none"}); strings.Contains(r.Title, "sleeps") {
		t.Errorf("of a name that no process has: %q", r.Title)
	}
}

// Of several processes of a name one sleeps and the other works: the program does.
func TestAProgramIsAllProcessesOfItsName(t *testing.T) {
	m := newMachine()
	m.process(7, "rsync", "read", thread{cpu: 0.05 * testSeconds})
	m.process(8, "rsync", "read", thread{cpu: 0.60 * testSeconds})
	r := Judge(m.Window(epoch.Add(time.Duration(testSeconds*float64(time.Second)))), Target{Comm: "rsync"})
	if r.Primary != Healthy || strings.Contains(r.Title, "sleeps") {
		t.Errorf("%s, %q", r.Primary, r.Title)
	}
}

// Who queues for less than half of the time and sleeps for the rest may gain nothing from
// more processors, if it keeps to a rate; who queues half of the time does.
func TestQueueingLittleIsLessSure(t *testing.T) {
	for _, c := range []struct {
		awake       thread
		least, most float64
		low         bool
	}{
		{thread{cpu: 0.04 * testSeconds, delay: 0.12 * testSeconds}, 0.7, 0.8, false},
		{thread{cpu: 0.12 * testSeconds, delay: 0.30 * testSeconds}, 0.7, 0.8, false},
		{thread{cpu: 0.40 * testSeconds, delay: 0.60 * testSeconds}, 0.9, mostSure, true},
	} {
		m := newMachine()
		m.process(7, "rsync", "read", c.awake)
		m.put(sample.ProcThreads, sample.Entity{PID: 7}, 1)
		m.put(sample.CPUCount, sample.Entity{}, 2)
		m.put(sample.CPUUser, sample.Entity{}, 2*testSeconds)
		r := m.judge()
		f := r.Findings[0]
		if r.Primary != CPUSaturated || f.Confidence < c.least || f.Confidence > c.most || f.Advice[0].Low > 0 != c.low {
			t.Errorf("%+v: %s with %.2f, %+v", c.awake, r.Primary, f.Confidence, f.Advice)
		}
	}
}

// Who has a lower priority gives way, so it is not who takes the processor; where it has
// those that the victim may not use, these are as good as idle.
func TestWhoGivesWay(t *testing.T) {
	for _, c := range []struct {
		name      string
		nice, own float64
		pinned    bool
		culprit   int
		do        string
		most      float64 // of what is promised at least; 0: any
	}{
		{"as high", 0, 0, false, 8, "give the victim a larger share", 0},
		{"lower", 19, 0, false, 7, "give it more processors", 0},
		{"both lower", 19, 19, false, 8, "give the victim a larger share", 0},
		{"lower, on the processor that it may not use", 19, 0, true, 7, "lower priority", 2.3},
		{"as high, on the processor that it may not use", 0, 0, true, 8, "give the victim a larger share", 0},
	} {
		m := newMachine()
		e, other := sample.Entity{PID: 7}, sample.Entity{PID: 8}
		m.process(7, "fio", "read", thread{cpu: 0.25 * testSeconds, delay: 0.75 * testSeconds}, thread{cpu: 0.25 * testSeconds, delay: 0.75 * testSeconds})
		m.process(8, "busy", "read", thread{cpu: testSeconds})
		m.put(sample.ProcThreads, e, 2)
		m.put(sample.ProcThreads, other, 1)
		m.put(sample.CPUCount, sample.Entity{}, 2)
		m.put(sample.CPUUser, sample.Entity{}, 2*testSeconds)
		m.put(sample.CPUIdle, sample.Entity{}, 0)
		if c.nice > 0 {
			m.put(sample.ProcNice, other, c.nice)
			m.put(sample.CPUNice, sample.Entity{}, testSeconds)
		}
		if c.own > 0 {
			m.put(sample.ProcNice, e, c.own)
		}
		if c.pinned {
			m.put(sample.ProcProcessors, e, 1)
		}
		r := Judge(m.Window(epoch.Add(time.Duration(testSeconds*float64(time.Second)))), Target{PIDs: []int{7}})
		f := r.Findings[0]
		if r.Primary != CPUSaturated || f.Culprit.PID != c.culprit || !strings.Contains(f.Advice[0].Do, c.do) || c.most > 0 && f.Advice[0].Low > c.most {
			t.Errorf("%s: %s by %d: %+v", c.name, r.Primary, f.Culprit.PID, f.Advice)
		}
	}
}
