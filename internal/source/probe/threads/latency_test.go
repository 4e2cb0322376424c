package threads

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// latency looks at calls while f runs. Whatever of their switches was not seen,
// the parts of each add up, and a part has times exactly where it took some.
func latency(t *testing.T, o CallOptions, f func()) []Call {
	t.Helper()
	probe, err := OpenLatency(host.Live(), o)
	bpftest.Need(t, "bpf", err)
	defer probe.Close()
	if err := probe.Begin(); err != nil {
		t.Fatal(err)
	}
	f()
	if err := probe.Sweep(); err != nil {
		t.Fatal(err)
	}
	calls, err := probe.Read()
	if err != nil {
		t.Fatal(err)
	}
	losses, err := probe.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range losses {
		if strings.HasPrefix(what, "calls") || strings.HasPrefix(what, "slow calls") || strings.HasPrefix(what, "parts") {
			t.Errorf("%d %s", n, what)
		} else {
			t.Logf("%d %s", n, what)
		}
	}
	for i := range calls {
		c := &calls[i]
		var sum time.Duration
		for p, d := range c.In {
			sum += d
			if n := c.Times[p].N(); n > c.Count || (d > 0) != (n > 0) {
				t.Errorf("call %d: %d calls with %v of part %d, %d in all", c.Number, n, d, p, c.Count)
			}
		}
		if sum != c.Wall {
			t.Errorf("call %d: its parts add up to %v, it took %v", c.Number, sum, c.Wall)
		}
		if n := c.Walls.N(); n != c.Count {
			t.Errorf("call %d: %d of %d times are in the histogram", c.Number, n, c.Count)
		}
	}
	return calls
}

func TestCountedCalls(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := bpftest.File(t, 1)
	var pid int
	var took time.Duration
	calls := latency(t, CallOptions{Calls: []int{unix.SYS_PREADV}}, func() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "THREADS_ROLES=calls", "THREADS_FILE="+path)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		pid, took = cmd.Process.Pid, time.Duration(n)
	})
	for i := range calls {
		if calls[i].Number != unix.SYS_PREADV {
			t.Errorf("call %d was looked at", calls[i].Number)
		}
	}
	i := slices.IndexFunc(calls, func(c Call) bool { return c.PID == pid })
	if i < 0 {
		t.Fatalf("no call of process %d", pid)
	}
	c := &calls[i]
	if c.Count != goodCalls+badCalls || c.Failed != badCalls {
		t.Errorf("%d calls, %d failed, want %d and %d", c.Count, c.Failed, goodCalls+badCalls, badCalls)
	}
	if c.Wall > took || c.Wall < took/10 {
		t.Errorf("%v in calls, by the caller's clock %v", c.Wall, took)
	}
	if string(c.Process) != commOf(os.Args[0]) {
		t.Errorf("process %q, want %q", c.Process, commOf(os.Args[0]))
	}
	if p50, most := c.Walls.QuantileOf(0.5, c.Count), c.Walls.Most(); p50 <= 0 || p50 > most || most > took {
		t.Errorf("median %v, longest %v of %v", p50, most, took)
	}
}

// commOf is the name that the kernel gives a program: 15 bytes of its file's.
func commOf(path string) string {
	name := path[strings.LastIndex(path, "/")+1:]
	return name[:min(len(name), 15)]
}

// partsWrong is what calls of the troupe "direct pipe mapping..." are not made of
// as they must be; times were looked at for a length.
func partsWrong(calls []Call, length time.Duration) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	// The shares are of the time in which a call does not work or want to: how much
	// that is depends on the disk and on the processors.
	in := func(part Part, numbers ...int) (share float64) {
		var spent, waits time.Duration
		for _, nr := range numbers {
			i := slices.IndexFunc(calls, func(c Call) bool { return c.Number == nr })
			if i < 0 {
				say("no call %d", nr)
				continue
			}
			c := &calls[i]
			if c.Count < 10 {
				say("%d calls %d", c.Count, nr)
			}
			if c.Wall > 6*length {
				say("call %d took %v in all in %v", nr, c.Wall, length)
			}
			spent, waits = spent+c.In[part], waits+c.Wall-c.In[PartCPU]-c.In[PartQueue]-c.In[PartPreempted]
		}
		return 100 * spent.Seconds() / max(waits.Seconds(), 1e-9)
	}
	if got := in(PartDisk, unix.SYS_PREAD64); got < 80 {
		say("waits of direct reads are %.1f %% disk, want at least 80", got)
	}
	if got := in(PartLock, unix.SYS_MUNMAP, unix.SYS_MMAP); got < 80 {
		say("waits of mmap and munmap are %.1f %% lock, want at least 80", got)
	}
	if got := in(PartOther, unix.SYS_READ); got < 80 {
		say("waits of reads of a pipe are %.1f %% other, want at least 80", got)
	}
	if got := in(PartDisk, unix.SYS_READ); got > 1 {
		say("waits of reads of a pipe are %.1f %% disk", got)
	}
	return all
}

// What must hold of every call, latency demands of each look. What calls are
// mostly made of shows when the threads get to run: a machine that is busy
// otherwise, or hides their switches, gets another look.
func TestPartsOfCalls(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, testFile(t), "direct", "pipe", "mapping", "mapping", "mapping", "mapping")
	pid := p.cmd.Process.Pid
	for try := 1; ; try++ {
		began := time.Now()
		calls := latency(t, CallOptions{PID: pid, Calls: DefaultCalls()}, func() { time.Sleep(1500 * time.Millisecond) })
		wrong := partsWrong(calls, time.Since(began))
		if slices.ContainsFunc(calls, func(c Call) bool { return c.PID != pid || c.Number == unix.SYS_FUTEX }) {
			t.Fatalf("futexes, or calls of other processes than %d, were looked at", pid)
		}
		if len(wrong) == 0 {
			return
		}
		if try == 5 {
			t.Fatal(strings.Join(wrong, "\n"))
		}
		t.Logf("look %d: %s", try, strings.Join(wrong, "; "))
	}
}

// A shell reads, asks who its parent is, and becomes another program, which reads
// as well, once slowly: all its calls are those of the process that it is now.
func TestCallsOfAProcessThatExecutesAnotherProgram(t *testing.T) {
	path := bpftest.File(t, 1)
	o := CallOptions{Calls: []int{unix.SYS_READ, unix.SYS_GETPPID}, Slow: 5 * time.Millisecond, Met: func(int) {}}
	var pid int
	calls := latency(t, o, func() {
		cmd := exec.Command("/bin/sh", "-c", "read x < "+path+"; read x < "+path+"; exec cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid = cmd.Process.Pid
		for name := ""; name != "cat"; time.Sleep(time.Millisecond) {
			raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if err != nil {
				t.Fatal(err)
			}
			name = strings.TrimSpace(string(raw))
		}
		time.Sleep(50 * time.Millisecond)
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
	})
	calls = slices.DeleteFunc(calls, func(c Call) bool { return c.PID != pid })
	if len(calls) != 2 {
		t.Fatalf("%d kinds of calls of process %d, want read and getppid: %+v", len(calls), pid, calls)
	}
	for _, c := range calls {
		if string(c.Process) != "cat" {
			t.Errorf("%d calls of %s are of process %q, want cat", c.Count, c.Name, c.Process)
		}
		if c.Number == unix.SYS_READ && (len(c.Slowest) != 1 || string(c.Slowest[0].Thread) != "cat") {
			t.Errorf("slow calls %+v, want one of cat", c.Slowest)
		}
	}
}

func TestCallsSinceTheLastLook(t *testing.T) {
	bpftest.ComparesFigures(t)
	a := Call{Number: 1, Count: 2, Wall: 300, Walls: &sample.Times{}}
	a.Walls.Add(100)
	a.Walls.Add(200)
	b := Call{Number: 1, Count: 3, Wall: 350, Walls: a.Walls.Plus(&sample.Times{})}
	b.Walls.Add(50)
	d := b.since(&a)
	if d.Count != 1 || d.Wall != 50 || d.Walls.N() != 1 || d.Walls.Most() != 128 || b.Walls.N() != 3 {
		t.Errorf("%+v, %d, %v", d, d.Walls.N(), d.Walls.Most())
	}
	if d = b.since(nil); d.Count != 3 || d.Walls.Most() != 200 {
		t.Errorf("%+v", d)
	}
}

func TestCallNames(t *testing.T) {
	for name, nr := range map[string]int{"read": unix.SYS_READ, "fsync": unix.SYS_FSYNC, "preadv2": unix.SYS_PREADV2, "futex_wait": unix.SYS_FUTEX_WAIT, "io_uring_enter": unix.SYS_IO_URING_ENTER, "17": 17} {
		if got, ok := CallNumber(name); !ok || got != nr {
			t.Errorf("%s is call %d, %v; want %d", name, got, ok, nr)
		}
	}
	for _, name := range []string{"", "-", "-1", "512", "reed"} {
		if got, ok := CallNumber(name); ok {
			t.Errorf("%q is call %d", name, got)
		}
	}
}

// slowReads is how many slow calls of rising length the observed process makes.
const slowReads = 7

// makeSlowReads reads a pipe that gets a byte after 10, 20, ... ms, in one
// thread, and in between makes calls that are not slow.
func makeSlowReads() error {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		return err
	}
	asked := make(chan time.Duration)
	go func() {
		for d := range asked {
			time.Sleep(d)
			_, _ = unix.Write(pipe[1], []byte{1})
		}
	}()
	runtime.LockOSThread()
	for i := range slowReads {
		asked <- time.Duration(i+1) * 10 * time.Millisecond
		readSlowly(pipe[0])
		for range 101 {
			readQuickly()
		}
	}
	fmt.Println(unix.Gettid(), reflect.ValueOf(readSlowly).Pointer())
	return nil
}

//go:noinline
func readSlowly(fd int) {
	var b [1]byte
	_, _ = unix.Read(fd, b[:]) // the runtime knows, and does not interrupt it
}

//go:noinline
func readQuickly() { _, _ = raw(unix.SYS_READ, ^uintptr(0), 0, 0, 0, 0, 0) }

func TestSlowestCalls(t *testing.T) {
	var mu sync.Mutex
	met := map[int]int{}
	o := CallOptions{Calls: []int{unix.SYS_READ}, Slow: 5 * time.Millisecond, Met: func(pid int) {
		mu.Lock()
		defer mu.Unlock()
		met[pid]++
	}}
	var pid, tid int
	var function uint64
	calls := latency(t, o, func() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "THREADS_ROLES=slow")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := fmt.Sscan(string(out), &tid, &function); err != nil {
			t.Fatal(err)
		}
		pid = cmd.Process.Pid
	})
	i := slices.IndexFunc(calls, func(c Call) bool { return c.PID == pid })
	if i < 0 || len(calls[i].Slowest) != Kept {
		t.Fatalf("%d rows, no %d slow calls: %+v", len(calls), Kept, calls)
	}
	for n, c := range calls[i].Slowest {
		least := time.Duration(slowReads-n) * 10 * time.Millisecond
		if c.Wall < least-3*time.Millisecond || c.TID != tid || c.Result != 1 || string(c.Thread) != commOf(os.Args[0]) {
			t.Errorf("call %d of thread %d (%s) took %v and returned %d, want 1 after %v in thread %d", n, c.TID, c.Thread, c.Wall, c.Result, least, tid)
		}
		var sum time.Duration
		for _, d := range c.In {
			sum += d
		}
		if sum != c.Wall || c.Wait > c.Wall || c.Wait < c.Wall/2 || c.State != IPC {
			t.Errorf("call %d: parts %v of %v, its longest wait %v %s", n, c.In, c.Wall, c.Wait, c.State.Key())
		}
		if len(c.Kernel) < 5 || c.KernelCut || c.UserCut {
			t.Errorf("call %d: kernel stack %x, user stack %x", n, c.Kernel, c.User)
		}
		const size = 256 // of readSlowly, at most
		if !slices.ContainsFunc(c.User, func(ip uint64) bool { return ip > function && ip < function+size }) {
			t.Errorf("call %d: readSlowly, at %x, is not in %x", n, function, c.User)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if n := met[pid]; n != slowReads { // each was slower than those before
		t.Errorf("%d slow calls of the process were told, want %d", n, slowReads)
	}
}
