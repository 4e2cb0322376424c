package diagnose

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

const testSeconds = 10.0

// machine is a window of ten seconds of a disk with a little to do.
type machine struct{ *sample.Recorder }

func newMachine() machine {
	m := machine{sample.NewRecorder(epoch)}
	m.put(sample.WaitIO, sample.Entity{}, 0)
	m.put(sample.WaitWeighted, sample.Entity{}, 0)
	m.put(sample.WaitCompletions, sample.Entity{}, 0)
	m.put(sample.CacheAccesses, sample.Entity{}, 1000)
	m.put(sample.CacheMisses, sample.Entity{}, 0)
	m.put(sample.CacheReread, sample.Entity{}, 0)
	for _, class := range []string{"read", "write", "flush"} {
		m.put(sample.BlockOps, sample.Entity{Device: "vda", Class: class}, 10)
	}
	return m
}

func (m machine) put(metric sample.Metric, e sample.Entity, v float64) {
	m.PutAt(epoch.Add(time.Second), metric, e, v, "test")
}

// thread is what one thread does in the window, in seconds.
type thread struct{ wait, cpu, delay float64 }

// process adds a process that waits in one class of call.
func (m machine) process(pid int, comm, class string, threads ...thread) {
	e := sample.Entity{PID: pid}
	var wait, cpu, delay, weighted, worst, held float64
	for _, t := range threads {
		awake := t.wait + t.cpu + t.delay
		wait += t.wait
		cpu += t.cpu
		delay += t.delay
		worst = max(worst, t.wait)
		if t.wait > 0 {
			weighted += t.wait * t.wait / awake
		}
		if 10*t.wait >= awake {
			held++
		}
	}
	m.PutProcess(pid, sample.Process{Comm: comm, MemoryCgroup: "/", IOCgroup: "/"})
	m.put(sample.WaitIO, sample.Entity{PID: pid, Class: class}, wait)
	m.put(sample.WaitThreads, e, float64(len(threads)))
	m.put(sample.WaitWeighted, e, weighted)
	m.put(sample.WaitAwake, e, wait+cpu+delay)
	m.put(sample.WaitWorst, e, worst)
	m.put(sample.WaitHeld, e, held)
	m.put(sample.WaitRan, e, float64(len(threads)))
	m.put(sample.ProcUser, e, cpu)
	m.put(sample.ProcSystem, e, 0)
	m.put(sample.ProcRunDelay, e, delay)
}

// master adds a process that never waits for I/O, and so has no account of it.
func (m machine) master(pid int, comm string) {
	m.PutProcess(pid, sample.Process{Comm: comm, MemoryCgroup: "/", IOCgroup: "/"})
	m.put(sample.ProcUser, sample.Entity{PID: pid}, 0.01)
}

// committers adds processes that wait in syncs for a fourteenth of the window each:
// of what they write to one log, or each to a file of its own where log is none.
func (m machine) committers(n int, log sample.FileID) {
	for i := range n {
		pid := 100 + i
		m.process(pid, "postgres", "sync", thread{wait: 0.7, cpu: 2.6, delay: 1.9})
		f := log
		if f == (sample.FileID{}) {
			f = sample.FileID{Dev: 1, Ino: uint64(pid)}
		}
		m.put(sample.CacheDirtied, sample.Entity{PID: pid, File: f}, 1000)
	}
	m.master(99, "postgres")
}

// reads adds what a process reads from disk, in pages.
func (m machine) reads(pid int, pages float64) {
	for _, metric := range []sample.Metric{sample.CacheAccesses, sample.CacheMisses, sample.CacheInserted} {
		m.put(metric, sample.Entity{PID: pid}, pages)
		m.put(metric, sample.Entity{}, pages)
	}
	e := sample.Entity{PID: pid, Device: "vda", Class: "read"}
	m.put(sample.BlockOps, e, pages)
	m.put(sample.BlockBytes, e, pages*pageSize)
	m.put(sample.BlockDeviceTime, e, pages*1e-4)
}

// row adds 400 short processes that wait for an eighth of their time, so many at a time.
func (m machine) row(beside int) {
	for i := range 400 {
		pid := 100 + i
		m.process(pid, "gzip", "read", thread{wait: 0.003 * float64(beside), cpu: 0.02 * float64(beside)})
		m.PutProcess(pid, sample.Process{Comm: "gzip", MemoryCgroup: "/", IOCgroup: "/", Start: time.Hour + time.Duration(i/beside*beside)*25*time.Millisecond})
		m.reads(pid, 128)
	}
}

// busy is the share of the window in which the disk was busy, and somebody
// waited for it.
func (m machine) busy(share float64) {
	m.put(sample.PSISome, sample.Entity{Class: "io"}, share*testSeconds)
	m.put(sample.DiskBusy, sample.Entity{Device: "vda"}, share*testSeconds)
}

func (m machine) judge() *Report {
	return Judge(m.Window(epoch.Add(time.Duration(testSeconds*float64(time.Second)))), Target{})
}

// idle are threads that waited once, for a moment.
func idle(n int) []thread {
	all := make([]thread, n)
	for i := range all {
		all[i] = thread{wait: 0.001, cpu: 0.001}
	}
	return all
}

func TestWhoIsHeldUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		make    func(m machine)
		primary ID
		who     string
		many    int // processes that the culprit stands for
	}{
		{"a loop of fsync beside a pool of idle threads", func(m machine) {
			m.process(10, "worker", "sync", append(idle(50), thread{wait: 7, cpu: 2})...)
		}, "sync-writes", "worker", 0},
		{"one busy connection of thirty-one", func(m machine) {
			m.process(10, "mariadbd", "sync", append(idle(30), thread{wait: 4, cpu: 3})...)
		}, "sync-writes", "mariadbd", 0},
		{"connections that commit by turns", func(m machine) {
			var all []thread
			for range 30 {
				all = append(all, thread{wait: 0.5, cpu: 0.1})
			}
			m.process(10, "mariadbd", "sync", all...)
		}, "sync-writes", "mariadbd", 0},
		{"a shell's loop of checksums of cold files", func(m machine) {
			for pid := 100; pid < 400; pid++ {
				m.process(pid, "cksum", "read", thread{wait: 0.02, cpu: 0.005})
				m.reads(pid, 256)
			}
		}, "cold-cache", "cksum", 300},
		{"a shell's loop of checksums, which are noted in one log", func(m machine) {
			for pid := 100; pid < 400; pid++ {
				m.process(pid, "cksum", "read", thread{wait: 0.02, cpu: 0.005})
				m.put(sample.WaitIO, sample.Entity{PID: pid, Class: "sync"}, 0.0005)
				m.put(sample.CacheDirtied, sample.Entity{PID: pid, File: sample.FileID{Dev: 1, Ino: 7}}, 1)
				m.reads(pid, 256)
			}
		}, "cold-cache", "cksum", 300},
		{"two hundred mailers that rest in between", func(m machine) {
			for pid := 100; pid < 300; pid++ {
				m.process(pid, "mailer", "sync", thread{wait: 0.3, cpu: 0.02})
			}
			m.master(99, "mailer")
		}, "sync-writes", "mailer", 200},
		{"backends that commit by turns to one log, and compute", func(m machine) {
			for pid := 100; pid < 115; pid++ {
				m.process(pid, "postgres", "sync", thread{wait: 0.56, cpu: 1, delay: 1.6})
			}
			m.master(99, "postgres")
			m.put(sample.CPUCount, sample.Entity{}, 2)
			m.put(sample.CPUUser, sample.Entity{}, 16)
			m.put(sample.CPUIdle, sample.Entity{}, 3)
		}, "sync-writes", "postgres", 15},
		{"four backends that commit to one log by turns, and compute more", func(m machine) {
			m.committers(4, sample.FileID{Dev: 1, Ino: 7})
		}, "sync-writes", "postgres", 4},
		{"four processes that sync a file each, and compute more", func(m machine) {
			m.committers(4, sample.FileID{})
		}, "cpu-saturated", "postgres", 0},
		{"connections that commit to one log by turns, and compute more", func(m machine) {
			all := make([]thread, 4)
			for i := range all {
				all[i] = thread{wait: 0.7, cpu: 2.6, delay: 1.9}
			}
			m.process(10, "mariadbd", "sync", all...)
		}, "sync-writes", "mariadbd", 0},
		{"a program that queues for processors whose ticks do not come", func(m machine) {
			m.process(10, "solver", "sync", thread{cpu: 2.6, delay: 7.4})
			m.put(sample.CPUCount, sample.Entity{}, 2)
			m.put(sample.CPUUser, sample.Entity{}, 3.4)
			m.put(sample.CPUIdle, sample.Entity{}, 0.2)
		}, "cpu-saturated", "solver", 0},
		{"a synced writer that queues for full processors", func(m machine) {
			m.process(10, "fio", "sync", thread{wait: 2, cpu: 0.4, delay: 7.4})
			m.put(sample.CPUUser, sample.Entity{}, 20)
		}, "cpu-saturated", "fio", 0},
		{"a synced writer that queues for full processors a little longer than it waits", func(m machine) {
			m.process(10, "fio", "sync", thread{wait: 4.2, cpu: 0.4, delay: 5.2})
			m.put(sample.CPUUser, sample.Entity{}, 20)
		}, "cpu-saturated", "fio", 0},
		{"a synced writer that queues for full processors less than it waits", func(m machine) {
			m.process(10, "fio", "sync", thread{wait: 5.2, cpu: 0.4, delay: 4.2})
			m.put(sample.CPUUser, sample.Entity{}, 20)
		}, "sync-writes", "fio", 0},
		{"many synced writers that queue for full processors longer than they wait", func(m machine) {
			var all []thread
			for range 100 {
				all = append(all, thread{wait: 0.3, cpu: 0.05, delay: 1.3})
			}
			m.process(10, "python3", "sync", all...)
			m.put(sample.CPUUser, sample.Entity{}, 20)
		}, "cpu-saturated", "python3", 0},
		{"a synced writer beside helpers that queue for full processors", func(m machine) {
			all := []thread{{wait: 8, cpu: 0.4, delay: 1.6}}
			for range 20 {
				all = append(all, thread{cpu: 0.1, delay: 1})
			}
			m.process(10, "db", "sync", all...)
			m.put(sample.CPUUser, sample.Entity{}, 18)
		}, "sync-writes", "db", 0},
		{"a thread that does nearly all syncs, and computes", func(m machine) {
			m.process(10, "redis", "sync", thread{wait: 0.85, cpu: 9}, thread{wait: 0.2, cpu: 2})
		}, "cpu-bound", "", 0},
		{"a log that is synced twice a second", func(m machine) {
			m.process(10, "logger", "sync", thread{wait: 0.04, cpu: 0.01})
		}, Healthy, "", 0},
		{"jobs of cron", func(m machine) {
			for pid := 100; pid < 130; pid++ {
				m.process(pid, "sh", "read", thread{wait: 0.01, cpu: 0.005})
			}
		}, Healthy, "", 0},
		{"a build that waits for little of what it does", func(m machine) {
			for pid := 100; pid < 400; pid++ {
				m.process(pid, "cc1", "read", thread{wait: 0.005, cpu: 0.06})
				m.reads(pid, 64)
			}
		}, "cpu-bound", "", 0},
		{"a shell's loop that compresses cold files", func(m machine) { m.row(1) }, "cold-cache", "gzip", 400},
		{"compressors of cold files, two at a time", func(m machine) { m.row(2) }, Unknown, "", 0},
		{"compressors of cold files, two at a time, and processors to spare", func(m machine) {
			m.row(2)
			m.put(sample.CPUIdle, sample.Entity{}, 3)
		}, "cold-cache", "gzip", 400},
		{"compressors of files, four at a time, of which every other is cold", func(m machine) {
			for i := range 400 {
				t := thread{wait: 0.01 * float64((i+1)%2), cpu: 0.08}
				m.process(100+i, "gzip", "read", t)
				m.PutProcess(100+i, sample.Process{Comm: "gzip", MemoryCgroup: "/", IOCgroup: "/", Start: time.Hour + time.Duration(i/4)*100*time.Millisecond})
				m.reads(100+i, 128)
			}
			m.put(sample.CPUIdle, sample.Entity{}, 5)
		}, "cold-cache", "gzip", 200},
		{"a shell's loop that waits for a processor", func(m machine) {
			for pid := 100; pid < 300; pid++ {
				m.process(pid, "rsync", "read", thread{cpu: 0.02})
				m.put(sample.ProcRunDelay, sample.Entity{PID: pid}, 0.025)
			}
			m.process(99, "burner", "read", thread{cpu: 9.9})
			m.put(sample.CPUUser, sample.Entity{}, 14)
		}, "cpu-saturated", "rsync", 200},
		{"a shell's loop of commits beside programs that compute", func(m machine) {
			for i := range 20 { // some wait for a tenth of their time, and most do not
				m.process(100+i, "svnmucc", "sync", thread{wait: 0.045 + 0.04*float64(i%3/2), cpu: 0.09, delay: 0.34})
				m.PutProcess(100+i, sample.Process{Comm: "svnmucc", MemoryCgroup: "/", IOCgroup: "/", Start: time.Hour + time.Duration(i)*500*time.Millisecond})
			}
			m.process(99, "burner", "read", thread{cpu: 9.9}, thread{cpu: 8})
			m.put(sample.CPUUser, sample.Entity{}, 20)
			m.busy(0.1)
		}, "cpu-saturated", "svnmucc", 20},
		{"daemons that do a little each", func(m machine) {
			for pid := 100; pid < 130; pid++ {
				m.process(pid, "httpd", "read", thread{cpu: 0.05})
			}
		}, Healthy, "", 0},
		{"workers that compute, and one that reads cold files", func(m machine) {
			all := []thread{{wait: 6, cpu: 2}}
			for range 40 {
				all = append(all, thread{wait: 0.01, cpu: 0.2})
			}
			m.process(10, "java", "read", all...)
			m.reads(10, 1<<16)
		}, "cold-cache", "java", 0},
		{"a thread that reads a little ahead of two that compress", func(m machine) {
			m.process(10, "7z", "read", thread{wait: 1.09, cpu: 0.3}, thread{cpu: 8.4}, thread{cpu: 8.4})
			m.reads(10, 1<<14)
		}, "cpu-bound", "", 0},
		{"a thread that reads much, and two that compress", func(m machine) {
			m.process(10, "mksquashfs", "read", thread{wait: 3.9, cpu: 0.8}, thread{cpu: 7.5}, thread{cpu: 7.5})
			m.reads(10, 1<<16)
		}, "cold-cache", "mksquashfs", 0},
		{"a thread that computes all the time that it does not read, beside others", func(m machine) {
			m.process(10, "node", "read", thread{wait: 1.09, cpu: 8.4}, thread{cpu: 8.4})
			m.reads(10, 1<<14)
		}, "cold-cache", "node", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine()
			c.make(m)
			m.busy(map[bool]float64{true: 0.05, false: 0.4}[c.primary == Healthy])
			r := m.judge()
			if r.Primary != c.primary {
				t.Fatalf("the primary cause is %s, want %s: %+v", r.Primary, c.primary, r.Excluded)
			}
			if k := r.Victim; k.Comm != c.who || k.Processes != c.many {
				t.Errorf("%d processes %q are held up, want %d %q", k.Processes, k.Comm, c.many, c.who)
			}
			checkReport(t, r)
		})
	}
}

// Who writes past the cache, and reads a block of a directory now and then, waits
// for the device all the same.
func TestDirectWriterThatReadsALittle(t *testing.T) {
	m := newMachine()
	m.process(10, "shred", "write", thread{wait: 7, cpu: 2})
	m.put(sample.WaitIO, sample.Entity{PID: 10, Class: "read"}, 0.001)
	for class, n := range map[string]float64{"read": 3, "write": 20000} {
		for _, pid := range []int{0, 10} {
			e := sample.Entity{PID: pid, Device: "vda", Class: class}
			m.put(sample.BlockOps, e, n)
			m.put(sample.BlockBytes, e, n*65536)
			m.put(sample.BlockDeviceTime, e, n*3.3e-4)
			m.put(sample.BlockQueueTime, e, 0)
		}
		depth := sample.Entity{Device: "vda", Class: class + " 65536 1"}
		m.put(sample.BlockDepthOps, depth, n)
		m.put(sample.BlockDepthTime, depth, n*3.3e-4)
	}
	m.put(sample.DirectWriteByte, sample.Entity{PID: 10}, 20000*65536)
	data, library := sample.FileID{Dev: 1, Ino: 1}, sample.FileID{Dev: 2, Ino: 2}
	m.PutFile(data, sample.File{Path: "/data"})
	m.PutFile(library, sample.File{Path: "/usr/lib/libc.so.6"})
	m.put(sample.DirectWriteByte, sample.Entity{PID: 10, File: data}, 20000*65536)
	m.put(sample.CacheMisses, sample.Entity{PID: 10, File: library}, 3)
	m.busy(0.67)
	r := m.judge()
	if r.Primary != DeviceLatencyBound || r.Findings[0].Weight < 0.8 {
		t.Errorf("%s: %+v; %+v", r.Primary, r.Findings, r.Excluded)
	}
	if f := r.Findings[0].Culprit.File; f != "/data" {
		t.Errorf("the file is %q, want what it writes", f)
	}
}

// A device that has requests in flight and completes none does not answer; one that
// completes some is slow.
func TestDeviceThatDoesNotAnswer(t *testing.T) {
	for done, primary := range map[float64]ID{0: DeviceErrors, 1: SyncWrites} {
		m := newMachine()
		m.process(10, "dd", "sync", thread{wait: 10})
		e := sample.Entity{Device: "sdb"}
		m.put(sample.BlockFailures, sample.Entity{}, 0)
		m.put(sample.DiskInFlight, e, 4)
		m.put(sample.DiskBusy, e, 10)
		m.put(sample.DiskReads, e, 0)
		m.put(sample.DiskWrites, e, done)
		r := m.judge()
		if r.Primary != primary || primary == DeviceErrors && r.Findings[0].Culprit.Device != "sdb" {
			t.Errorf("%g requests completed: %s, %+v", done, r.Primary, r.Findings)
		}
		checkReport(t, r)
	}
}

// Who waits for a frozen file system is held up by nothing else.
func TestFrozenFileSystem(t *testing.T) {
	m := newMachine()
	e := sample.Entity{PID: 10, Class: "freeze"}
	m.PutProcess(10, sample.Process{Comm: "backup", MemoryCgroup: "/", IOCgroup: "/"})
	m.put(sample.ProcUser, sample.Entity{PID: 10}, 0.01)
	m.put(sample.LockWait, e, 9)
	m.put(sample.LockWaits, e, 0)
	m.put(sample.LockWaitIn, sample.Entity{PID: 10, Class: "write"}, 9)
	m.put(sample.LockThreads, sample.Entity{PID: 10}, 1)
	r := m.judge()
	if r.Primary != LockContention || !strings.Contains(r.Findings[0].Advice[0].Do, "fsfreeze --unfreeze") {
		t.Errorf("%s: %+v", r.Primary, r.Findings)
	}
	checkReport(t, r)
}

// While threads of a program wait for the disk, its others have all processors:
// without the waiting it would do no more.
func TestWhoHasAllProcessorsIsNotHeldUp(t *testing.T) {
	for _, c := range []struct {
		name         string
		user, system float64
		primary      ID
	}{
		{"a checksum in eight threads", 16, 3.5, "cpu-bound"},
		{"a scan that the kernel does most for", 5, 14.5, "cold-cache"},
		{"a checksum that leaves some", 12, 3, "cold-cache"},
	} {
		m := newMachine()
		m.put(sample.CPUCount, sample.Entity{}, 2)
		var all []thread
		for range 8 {
			all = append(all, thread{wait: 3})
		}
		all[0].cpu = c.user
		m.process(10, "sha256sum", "read", all...)
		m.put(sample.ProcSystem, sample.Entity{PID: 10}, c.system)
		m.reads(10, 1<<16)
		m.busy(0.9)
		if r := m.judge(); r.Primary != c.primary {
			t.Errorf("%s: the primary cause is %s, want %s: %+v", c.name, r.Primary, c.primary, r.Excluded)
		}
	}
}

// Who is ahead of its read-ahead computes; who only fetches is held up by it.
func TestReadAheadInFlightHoldsNobodyUp(t *testing.T) {
	for _, c := range []struct {
		name         string
		user, system float64
		primary      ID
	}{
		{"a checksum", 8.2, 1.5, "cpu-bound"},
		{"a scan", 0.5, 9, "cold-cache"},
	} {
		m := newMachine()
		m.process(10, "reader", "read", thread{wait: 0.05, cpu: c.user})
		m.put(sample.ProcSystem, sample.Entity{PID: 10}, c.system)
		m.busy(0.5)
		m.reads(10, 1<<17) // 13 s of requests, several at a time
		if r := m.judge(); r.Primary != c.primary {
			t.Errorf("%s: the primary cause is %s, want %s: %+v", c.name, r.Primary, c.primary, r.Excluded)
		}
	}
}

// A thread asleep for completions waits as long as there is I/O in flight.
func TestSleepForCompletions(t *testing.T) {
	for _, c := range []struct {
		name     string
		inFlight float64 // seconds of requests
		blocked  float64 // seconds that another thread waits for requests
		held     bool
	}{
		{"eight direct reads at a time", 40, 0, true},
		{"a thread that waits for work", 0.1, 0, false},
		{"a thread that waits for work beside commits", 0.9, 0.8, false},
	} {
		m := newMachine()
		m.process(10, "server", "sync", thread{cpu: 1}, thread{wait: c.blocked, cpu: 5})
		m.busy(0.5)
		m.put(sample.WaitCompletions, sample.Entity{PID: 10}, 8.5)
		m.put(sample.BlockDirect, sample.Entity{PID: 10}, 1e9)
		m.put(sample.BlockDeviceTime, sample.Entity{PID: 10, Device: "vda", Class: "read"}, c.inFlight)
		m.put(sample.BlockDeviceTime, sample.Entity{Device: "vda", Class: "read"}, c.inFlight)
		m.put(sample.BlockOps, sample.Entity{PID: 10, Device: "vda", Class: "read"}, 1e5)
		w := m.Window(epoch.Add(testSeconds * time.Second))
		k := newCase(w, Target{})
		if got := k.held(); got != c.held {
			t.Errorf("%s: held up is %v, want %v (it waits %g s)", c.name, got, c.held, k.victim.async)
		}
		if k.victim.async > 5 {
			t.Errorf("%s: it waits %g s, longer than the disk was busy", c.name, k.victim.async)
		}
	}
}

// A recording of an earlier version has no account of threads: its figure is of
// all that ever waited, as if they were alike, and the report says so. Threads that
// waited once and rest do not dilute it.
func TestRecordingsWithoutThreads(t *testing.T) {
	m := newMachine()
	m.process(10, "worker", "sync", append(idle(3), thread{wait: 8, cpu: 1})...)
	m.busy(0.4)
	m.Forget(sample.WaitWeighted)
	r := m.judge()
	if v := r.Findings[0].Evidence[0].Value; r.Primary != "sync-writes" || v < 0.79 || v > 0.82 {
		t.Errorf("found %+v, want sync-writes for 80 %% of the time", r.Findings)
	}
	if !strings.Contains(strings.Join(r.Gaps, "\n"), "wait.weighted") {
		t.Errorf("the gaps are %q, want a word on the missing account", r.Gaps)
	}
}

// What is written past the cache is sent by the program itself, and dirties a page
// of the inode's beside: it does not wait in write(2) for a sync.
func TestDirectWriterDoesNotSync(t *testing.T) {
	for direct, want := range map[float64]float64{100e6: 0, 0: 8} {
		m := newMachine()
		m.process(10, "writer", "write", thread{wait: 8, cpu: 1})
		m.busy(0.9)
		e := sample.Entity{PID: 10}
		m.put(sample.CacheDirtied, e, 1)
		m.put(sample.DirectWriteByte, e, direct)
		m.put(sample.BlockBytes, sample.Entity{PID: 10, Device: "vda", Class: "write"}, 100e6+4096)
		k := newCase(m.Window(epoch.Add(testSeconds*time.Second)), Target{})
		if got := k.syncWait(); got != want {
			t.Errorf("of 100 MB that it sent, %g past the cache: it waits %g s for syncs, want %g", direct, got, want)
		}
	}
}

// What a database dirties counts whole folios: of those it sends the pages that it wrote.
// What somebody else sends to the device may be what it wrote into the cache.
func TestSyncedPagesOfLargeFolios(t *testing.T) {
	for others, want := range map[float64]float64{1e6: 8, 300e6: 0} {
		m := newMachine()
		m.process(10, "database", "write", thread{wait: 8, cpu: 1})
		m.busy(0.5)
		m.put(sample.CacheDirtied, sample.Entity{PID: 10}, 285e6/pageSize)
		m.put(sample.BlockBytes, sample.Entity{PID: 10, Device: "vda", Class: "write"}, 110e6)
		m.put(sample.BlockBytes, sample.Entity{Device: "vda", Class: "write"}, 110e6+others)
		k := newCase(m.Window(epoch.Add(testSeconds*time.Second)), Target{})
		if got := k.syncWait(); got != want {
			t.Errorf("%g bytes written by others: it waits %g s for syncs, want %g", others, got, want)
		}
	}
}

// Who writes with O_DIRECT to a file system that keeps checksums sends pages of the cache
// itself, too; but nothing has the device flush its cache.
func TestDirectWriterThroughTheCache(t *testing.T) {
	for flushes, want := range map[float64]float64{1: 0, 1000: 8} {
		m := newMachine()
		m.process(10, "writer", "write", thread{wait: 8, cpu: 1})
		m.busy(0.9)
		e := sample.Entity{PID: 10}
		m.put(sample.WaitFor, sample.Entity{PID: 10, Class: sample.ClassWriteback}, 8)
		m.put(sample.CacheDirtied, e, 25000)
		m.put(sample.DeviceWriteCache, sample.Entity{Device: "vda"}, 1)
		m.put(sample.BlockOps, sample.Entity{PID: 10, Device: "vda", Class: "write"}, 1000)
		m.put(sample.BlockBytes, sample.Entity{PID: 10, Device: "vda", Class: "write"}, 25000*pageSize)
		m.put(sample.BlockOps, sample.Entity{Device: "vda", Class: "flush"}, flushes)
		k := newCase(m.Window(epoch.Add(testSeconds*time.Second)), Target{})
		if got := k.syncWait(); got != want {
			t.Errorf("1,000 writes and %g flushes: it waits %g s for syncs, want %g", flushes, got, want)
		}
	}
}

// Where there was no memory for the account of a thread, its waiting is in the process's
// alone: then the thread that waits most waits at least as long as all do on average.
func TestAccountOfAThreadThatWasLost(t *testing.T) {
	for threads, want := range map[float64]ID{1: "sync-writes", 8: Unknown} {
		m := newMachine()
		m.process(10, "log", "sync", thread{wait: 0.01, cpu: 1})
		m.put(sample.WaitIO, sample.Entity{PID: 10, Class: "sync"}, 4)
		m.put(sample.WaitThreads, sample.Entity{PID: 10}, threads)
		m.busy(0.4)
		if r := m.judge(); r.Primary != want {
			t.Errorf("4 s of %g threads, of which the account of threads has 0.01 s: %s, want %s", threads, r.Primary, want)
		}
	}
}

// So it is where the number of threads that waited was lost, too: those that were awake
// are no fewer.
func TestNumberOfThreadsThatWasLost(t *testing.T) {
	v := victim{pause: 5, spans: &spans{worst: 0.5, weighted: 0.02, ran: 1}}
	if got := v.share(30); got < 5.0/30 {
		t.Errorf("one thread was awake, and was paused for 5 s of 30: a share of %g", got)
	}
}
