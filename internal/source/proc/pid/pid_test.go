package pid

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestParseStat(t *testing.T) {
	s, err := ParseStat(proctest.Fixture(t, "stat-odd"))
	if err != nil || s != (Stat{PID: 4242, Comm: "my db) S 1\n(\x1b[31m", State: 'S', Parent: 1, MajorFaults: 30, User: 1000, System: 500,
		Threads: 2, Start: 500, RSS: 5000, BlkioDelay: 300, HasBlkioDelay: true}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseStat(proctest.Fixture(t, "stat-6.18")); err != nil || s.Comm != "bash" || s.System != 0 || s.Start != 433074 || s.RSS != 764 || s.Kernel {
		t.Errorf("%+v, %v", s, err)
	}
	const old = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 18446744073709551615"
	if s, err = ParseStat([]byte(old)); err != nil || !s.Kernel || s.HasBlkioDelay || s.Nice != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseStat([]byte(strings.Replace(old, " 0 0 20 0 1 ", " 7 5 20 0 1 ", 1))); err != nil || s.Children != 12 || s.System != 0 {
		t.Errorf("%+v, %v, want 12 ticks of children", s, err)
	}
	for field, want := range map[string]int{"19": 19, "-20": -20} {
		if s, err = ParseStat([]byte(strings.Replace(old, " 20 0 1 ", " 20 "+field+" 1 ", 1))); err != nil || s.Nice != want {
			t.Errorf("%+v, %v, want a nice value of %d", s, err, want)
		}
	}
	for _, b := range []string{"", "1", "1 (x", ") 1 (", "x (y) S 1", "0 (y) S", "99999999999 (y) S 1", old[:60], strings.Replace(old, " 0 0 20 0 1 ", " 0 0 20 0 -1 ", 1), strings.Replace(old, " 20 0 1 ", " 20 20 1 ", 1), strings.Replace(old, " 20 0 1 ", " 20 -21 1 ", 1)} {
		_, err := ParseStat([]byte(b))
		proctest.WantLine(t, err, 1)
	}
}

// tree is a host that processes can be put into.
type tree struct{ proctest.Tree }

func newTree(t *testing.T) tree { return tree{proctest.NewTree(t)} }

// proc is one process of a test's tree.
type proc struct {
	comm                        string
	flags, user, threads, start uint64
	rss                         uint64 // pages, 7 for 0
	blkio, read, delay, slices  uint64
	noIO                        bool
	nice                        int
}

func (x tree) process(pid int, p proc) {
	if p.threads == 0 {
		p.threads = 1
	}
	x.processIn(fmt.Sprintf("proc/%d/", pid), pid, p)
}

func (x tree) processIn(dir string, pid int, p proc) {
	x.Write(dir+"stat", fmt.Sprintf("%d (%s) S 1 1 1 0 -1 %d 1 0 2 0 %d 3 0 0 20 %d %d 0 %d 1000 %d 1 %s 17 0 0 0 %d 0\n",
		pid, p.comm, p.flags, p.user, p.nice, p.threads, p.start, cmp.Or(p.rss, 7), strings.Repeat(" 0", 12), p.blkio))
	if !p.noIO {
		x.Write(dir+"io", fmt.Sprintf("rchar: %d\nwchar: 0\nsyscr: 1\nsyscw: 0\nread_bytes: %d\nwrite_bytes: 0\ncancelled_write_bytes: 0\n", p.read, p.read))
	}
	x.Write(dir+"schedstat", fmt.Sprintf("%d %d %d\n", p.slices, p.delay, p.slices))
}

func TestCollect(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "100.00 1.00\n")
	x.Write("proc/sys/kernel/task_delayacct", "1\n")
	x.Write("proc/self/mountinfo", "1 0 0:9 / /cg rw - cgroup2 cgroup2 rw\n")
	x.Write("cg/kept (deleted)/x", "")
	x.Write("sys/devices/system/cpu/online", "0-3\n")
	x.process(1, proc{comm: "idle", slices: 5, start: 1})
	x.process(2, proc{comm: "busy", user: 10, read: 1000, delay: 1e9, slices: 5, start: 2, blkio: 100})
	x.process(3, proc{comm: "exits", slices: 5, start: 3})
	x.process(4, proc{comm: "replaced", user: 5, slices: 5, start: 4})
	x.process(5, proc{comm: "fell", user: 50, slices: 5, start: 5})
	x.process(99, proc{comm: "ourselves", slices: 1})
	h := x.Host()
	h.Self = 99
	s, err := Open(h)
	if err != nil {
		t.Fatal(err)
	}
	if w := proctest.Collect(t, s, sample.First); w.Has(sample.ProcUser) || w.Has(sample.ProcRSS) {
		t.Error("emitted at the start")
	}
	x.process(2, proc{comm: "a)\n\x1b[2J", user: 60, read: 5096, delay: 35e8, slices: 9, start: 2, blkio: 150, flags: kthread, nice: 10})
	x.Write("proc/2/cgroup", "0::/kept (deleted)\n")
	x.Write("proc/2/status", "VmSwap:\t8 kB\nCpus_allowed:\t5\n")
	x.Write("proc/4/status", "Cpus_allowed:\tff\n")
	if err := os.RemoveAll(filepath.Join(x.Dir, "proc/3")); err != nil {
		t.Fatal(err)
	}
	x.process(4, proc{comm: "new", user: 7, slices: 6, start: 10001})
	x.Write("proc/4/cgroup", "0::/gone (deleted)\n")
	x.process(5, proc{comm: "fell", user: 40, read: 1, slices: 7, start: 5})
	x.process(6, proc{comm: "late", user: 40, slices: 7, start: 50})
	x.process(99, proc{comm: "ourselves", user: 1000, slices: 9})
	if w := proctest.Collect(t, s, sample.Tick); w.Has(sample.ProcUser) {
		t.Error("emitted at a tick")
	}
	w := proctest.Collect(t, s, sample.Last)
	e := sample.Entity{PID: 2}
	proctest.Want(t, w, sample.ProcUser, e, 0.5)
	proctest.Want(t, w, sample.ProcSystem, e, 0)
	proctest.Want(t, w, sample.ProcReadBytes, e, 4096)
	proctest.Want(t, w, sample.ProcReadChars, e, 4096)
	proctest.Want(t, w, sample.ProcRunDelay, e, 2.5)
	proctest.Want(t, w, sample.ProcBlkioDelay, e, 0.5)
	proctest.Want(t, w, sample.ProcRSS, e, 7*4096)
	proctest.Want(t, w, sample.ProcThreads, e, 1)
	proctest.Want(t, w, sample.ProcSwap, e, 8192)
	proctest.Want(t, w, sample.ProcProcessors, e, 2)
	proctest.WantAbsent(t, w, sample.ProcProcessors, sample.Entity{PID: 4}) // it may run on all
	proctest.Want(t, w, sample.ProcNice, e, 10)
	proctest.WantAbsent(t, w, sample.ProcNice, sample.Entity{PID: 4}) // it has 0
	if p := w.Processes[2]; p != (sample.Process{Comm: "a)\n\x1b[2J", Start: 20 * time.Millisecond, Kernel: true, MemoryCgroup: "/kept (deleted)", IOCgroup: "/kept (deleted)", CPUCgroup: "/kept (deleted)"}) {
		t.Errorf("%+v", p)
	}
	proctest.Want(t, w, sample.ProcUser, sample.Entity{PID: 4}, 0.07) // from zero: the number was given anew
	if p := w.Processes[4]; p.MemoryCgroup != "/gone" || p.Comm != "new" {
		t.Errorf("%+v", p)
	}
	proctest.WantAbsent(t, w, sample.ProcUser, sample.Entity{PID: 5})
	proctest.Want(t, w, sample.ProcReadBytes, sample.Entity{PID: 5}, 1)
	for _, pid := range []int{1, 3, 6, 99} {
		proctest.WantAbsent(t, w, sample.ProcUser, sample.Entity{PID: pid})
	}
	var why []string
	for _, g := range w.Gaps {
		why = append(why, g.Why)
	}
	all := strings.Join(why, "\n")
	for _, part := range []string{"2 processes exited before the end", "1 process could not be read at the start", "process 5: proc.cpu_user fell"} {
		if !strings.Contains(all, part) {
			t.Errorf("no gap says %q:\n%s", part, all)
		}
	}
	if len(why) != 3 {
		t.Errorf("gaps:\n%s", all)
	}
}

// What is taken from the memory of who sleeps is not in its figures of when it ran.
func TestMemoryTakenFromASleeper(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "100.00 1.00\n")
	x.process(7, proc{comm: "sleeper", slices: 5, start: 7, rss: 40000})
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	e := sample.Entity{PID: 7}
	proctest.Want(t, proctest.Collect(t, s, sample.IntervalEnd), sample.ProcRSS, e, 40000*4096)
	x.process(7, proc{comm: "sleeper", slices: 5, start: 7, rss: 20000})
	x.Write("proc/7/status", "VmSwap:\t80000 kB\n")
	w := proctest.Collect(t, s, sample.IntervalEnd)
	proctest.Want(t, w, sample.ProcRSS, e, 20000*4096)
	proctest.Want(t, w, sample.ProcSwap, e, 80000<<10)
	x.process(7, proc{comm: "sleeper", slices: 5, start: 7, rss: 100})
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.IntervalEnd), sample.ProcRSS, e)
	x.process(7, proc{comm: "another", slices: 5, start: 8, rss: 30000}) // of its number
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.Last), sample.ProcRSS, e)
}

// A process that begins while the others are read belongs to the next window.
func TestBeginsDuringThePass(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "50.00 1.00\n")
	x.process(7, proc{comm: "slow", slices: 5, start: 7})
	h := x.Host()
	// who is asked about 7 while it is read is late, and meanwhile another begins
	during := func() {}
	s, err := OpenBeside(h, func(int, uint64) bool { during(); return true })
	if err != nil {
		t.Fatal(err)
	}
	proctest.Collect(t, s, sample.First)
	x.Write("proc/uptime", "100.00 1.00\n")
	during = func() {
		x.Write("proc/uptime", "100.20 1.00\n")
		x.process(8, proc{comm: "dd", read: 1000, slices: 1, start: 10005})
	}
	proctest.Collect(t, s, sample.IntervalEnd)
	during = func() {}
	x.Write("proc/uptime", "110.00 1.00\n")
	x.process(8, proc{comm: "dd", read: 5e9, slices: 2, start: 10005})
	w := proctest.Collect(t, s, sample.IntervalEnd)
	proctest.Want(t, w, sample.ProcReadBytes, sample.Entity{PID: 8}, 5e9)
	for _, g := range w.Gaps {
		if strings.Contains(g.Why, "at the start of the window") {
			t.Error(g.Why)
		}
	}
}

// More threads than are read at all, in processes of few: all of them count against
// the same number, whoever reads them, and what is not known is said.
func TestMoreThreadsThanAreRead(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "100.00 1.00\n")
	x.Write("proc/sys/kernel/task_delayacct", "1\n")
	process := func(pid int, delay uint64) {
		x.process(pid, proc{comm: "p", slices: delay, delay: delay, start: 7, threads: 2})
		for _, tid := range []int{pid, pid + 1} {
			x.processIn(fmt.Sprintf("proc/%d/task/%d/", pid, tid), tid, proc{comm: "t", slices: delay, delay: delay, threads: 2})
		}
	}
	s := &source{host: x.Host(), r: newReader(x.Host()), before: map[int]look{}, delays: true}
	s.r.threads = &atomic.Int64{}
	all := func(delay, most uint64) (found []outcome) {
		s.r.threads.Store(int64(most))
		for _, pid := range []int{10, 20, 30} {
			process(pid, delay)
			found = append(found, s.r.outcome(pid, nil, nil))
		}
		return found
	}
	for _, o := range all(1, 5) {
		s.before[o.pid] = o.look
	}
	r := sample.NewRecorder(time.Now())
	for _, o := range all(1e9+1, 5) {
		s.end(&o, r)
	}
	s.gaps(r)
	w := r.Window(time.Now())
	for pid, want := range map[int]float64{10: 2, 20: 2, 30: 1} {
		proctest.Want(t, w, sample.ProcRunDelay, sample.Entity{PID: pid}, want)
	}
	for _, m := range []sample.Metric{sample.ProcRunDelay, sample.ProcBlkioDelay} {
		if why := w.WhyAbsent(m); !strings.Contains(why, "of 1 process only the first thread's waits are known") || strings.Contains(why, "with more than") {
			t.Errorf("%s: %q", m, why)
		}
	}
	s.r.threads.Store(maxThreads)
	if !s.r.take(3000) || s.r.take(1097) || !s.r.take(1096) || s.r.take(1) {
		t.Error("a share is not the whole")
	}
}

// TestThreads sums up what the kernel counts for each thread alone.
func TestThreads(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "100.00 1.00\n")
	x.Write("proc/sys/kernel/task_delayacct", "1\n")
	thread := func(tid int, delay, blkio uint64) {
		x.processIn(fmt.Sprintf("proc/7/task/%d/", tid), tid, proc{comm: "t", delay: delay, blkio: blkio, slices: 1, threads: 3})
	}
	thread(7, 1e9, 100)
	thread(8, 2e9, 200)
	thread(9, 9e9, 900)
	x.process(7, proc{comm: "p", delay: 1e9, blkio: 100, slices: 1, threads: 3})
	x.Write("sys/devices/system/cpu/online", "0-3\n")
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	thread(7, 2e9, 150)
	x.Write("proc/7/status", "Cpus_allowed:\tf\n")
	x.Write("proc/7/task/8/status", "Cpus_allowed:\t3\n")
	x.Write("proc/7/task/10/status", "Cpus_allowed:\t4\n")
	thread(8, 5e9, 260)
	thread(9, 1e9, 1) // the number of an ended thread
	thread(10, 4e9, 400)
	x.process(7, proc{comm: "p", delay: 2e9, blkio: 150, slices: 1, threads: 4})
	w := proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.ProcRunDelay, sample.Entity{PID: 7}, 8)
	proctest.Want(t, w, sample.ProcBlkioDelay, sample.Entity{PID: 7}, 5.1)
	proctest.Want(t, w, sample.ProcProcessors, sample.Entity{PID: 7}, 1) // of thread 10, which waited longest
}

// TestWithoutAccounting tells apart what does not count from what is zero.
func TestWithoutAccounting(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "1.00 1.00\n")
	x.Write("proc/sys/kernel/task_delayacct", "0\n")
	x.process(1, proc{comm: "a", user: 1})
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	x.process(1, proc{comm: "a", user: 2})
	w := proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.ProcUser, sample.Entity{PID: 1}, 0.01)
	for _, m := range []sample.Metric{sample.ProcRunDelay, sample.ProcBlkioDelay} {
		if w.Has(m) || strings.HasSuffix(w.WhyAbsent(m), "not measured") {
			t.Errorf("%s: %v, %q", m, w.Has(m), w.WhyAbsent(m))
		}
	}
}

// TestDenied: an ordinary user is told to become root; root, who is kept from
// some processes as well, is not, and hears of it only if they did something.
func TestDenied(t *testing.T) {
	const user, root = "CapEff:\t0000000000000000\n", "CapEff:\t000001ffffffffff\n"
	ran := look{denied: true, stat: Stat{PID: 1, Threads: 1}, sched: procfile.Schedstat{Slices: 2}}
	for _, c := range []struct {
		status, want string
		o            outcome
	}{
		{user, "of 1 process was not permitted: run as root", outcome{pid: 1, same: true}},
		{user, "of 1 process was not permitted: run as root", outcome{pid: 1, look: ran}},
		{"", "of 1 process was not permitted: run as root", outcome{pid: 1, look: ran}},
		{root, "proc.read_bytes was not measured", outcome{pid: 1, same: true}},
		{root, "of 1 process was not permitted: the kernel denies that even to root", outcome{pid: 1, look: ran}},
	} {
		x := newTree(t)
		x.Write("proc/self/status", "Name:\tx\n"+c.status)
		s := &source{host: x.Host(), r: newReader(x.Host()), before: map[int]look{1: {denied: true, stat: Stat{PID: 1}, sched: procfile.Schedstat{Slices: 1}}}}
		r := sample.NewRecorder(time.Now())
		s.end(&c.o, r)
		s.gaps(r)
		if why := r.Window(time.Now()).WhyAbsent(sample.ProcReadBytes); !strings.Contains(why, c.want) {
			t.Errorf("with %q: %q, want %q", c.status, why, c.want)
		}
	}
}

// TestDeniedForReal is what an ordinary user meets at other users' processes.
func TestDeniedForReal(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root is denied nothing: cmd's tests run the program as nobody")
	}
	s, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	proctest.Collect(t, s, sample.First)
	w := proctest.Collect(t, s, sample.Last)
	if why := w.WhyAbsent(sample.ProcReadBytes); !strings.Contains(why, "not permitted") {
		t.Errorf("%q", why)
	}
}

func TestBrokenProcess(t *testing.T) {
	x := newTree(t)
	x.Write("proc/uptime", "1.00 1.00\n")
	x.process(1, proc{comm: "a", user: 1, slices: 1})
	x.Write("proc/2/stat", "2 (trunc")
	x.Write("proc/3/other", "")
	x.Write("proc/notanumber/stat", "")
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	x.process(1, proc{comm: "a", user: 3, slices: 2})
	r := sample.NewRecorder(time.Now())
	err := s.Collect(sample.Last, r)
	if err == nil || !strings.Contains(err.Error(), "/2/stat:1: ") {
		t.Errorf("%v does not name the file and the line", err)
	}
	proctest.Want(t, r.Window(time.Now()), sample.ProcUser, sample.Entity{PID: 1}, 0.02)
}

// TestRealProcess reads a known number of bytes in this process and demands
// them exactly; the source is told to be somebody else.
func TestRealProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/io"); err != nil {
		t.Skip(err)
	}
	h := host.Live()
	h.Self = -1
	s, err := Open(h)
	if err != nil {
		t.Fatal(err)
	}
	proctest.Collect(t, s, sample.First)
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	const calls, each = 1009, 4099 // prime
	buf := make([]byte, each)
	for range calls {
		if _, err := zero.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}
	w := proctest.Collect(t, s, sample.Last)
	e := sample.Entity{PID: os.Getpid()}
	got, _ := w.Value(sample.ProcReadChars, e)
	if got < calls*each || got > calls*each+16<<20 {
		t.Errorf("%v bytes read, want %d and what the passes read", got, calls*each)
	}
	if n, _ := w.Value(sample.ProcReadCalls, e); n < calls {
		t.Errorf("%v calls, want at least %d", n, calls)
	}
	if c, _ := w.Value(sample.ProcUser, e); c > 60 {
		t.Errorf("%v s of processor time", c)
	}
	if w.Processes[e.PID].Comm == "" {
		t.Error("no name")
	}
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseStat(b); err == nil && (s.PID <= 0 || s.State == 0) {
			t.Errorf("%+v", s)
		}
	})
}
