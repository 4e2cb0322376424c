package agent

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/tasks"
)

// waiter is what TestWaiter, run as a program of its own, waits for: IOCAUSE_WAITS
// names it.
const waiterEnv, waiterFile = "IOCAUSE_WAITS", "IOCAUSE_WAITS_FILE"

// TestWaiter is no test: it is the program whose threads wait.
func TestWaiter(t *testing.T) {
	how := os.Getenv(waiterEnv)
	if how == "" {
		t.Skip("it is a program of other tests")
	}
	word := uint32(2)
	if how == "idle" {
		word = 0
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for range 3 {
		go func() {
			runtime.LockOSThread()
			switch how {
			case "vfork": // it keeps the processor from other goroutines
				vfork()
			case "flock", "fcntl":
				f, err := os.OpenFile(os.Getenv(waiterFile), os.O_RDWR, 0)
				if err != nil {
					panic(err)
				}
				for err = unix.EINTR; err == unix.EINTR; {
					if how == "flock" {
						err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
					} else {
						err = unix.FcntlFlock(f.Fd(), unix.F_SETLKW, &unix.Flock_t{Type: unix.F_WRLCK})
					}
				}
			default: // of a program that waits for its lock, or for work
				for {
					unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), 128, uintptr(word), 0, 0, 0)
				}
			}
		}()
	}
	fmt.Println("ready")
	select {}
}

// vfork blocks its thread in the kernel (state D) until a process ends that ends
// with it.
func vfork() {
	var word uint32
	if pid, _, _ := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
		return
	}
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
	for {
		unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), 128, 0, 0, 0, 0)
	}
}

// startWaiter starts that program.
func startWaiter(t *testing.T, how, file string) int {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestWaiter$")
	c.Env = append(os.Environ(), waiterEnv+"="+how, waiterFile+"="+file)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatal(line, err)
	}
	time.Sleep(100 * time.Millisecond) // until its threads wait
	return c.Process.Pid
}

// stopAt has a group of one process at work for a while, then none: the work is
// told, the threads are those of a real program. It gives the standstill that
// was told of each window of ten seconds after the work stopped.
func stopAt(t *testing.T, pid, worked, stopped int) (told []string) {
	t.Helper()
	s := newStalls(host.Live())
	g, at := detect.Group{Comm: "db", Cgroup: "/db"}, time.Unix(1e9, 0)
	for i := range worked + stopped {
		at = at.Add(10 * time.Second)
		d := detect.Did{Chars: 1e6, CPU: 0.1}
		if i >= worked {
			d = detect.Did{}
		}
		s.look(at, 10*time.Second, map[detect.Group]detect.Did{g: d}, map[detect.Group][]int{g: {pid}})
		what := ""
		for _, l := range s.take(at) {
			what += l.What
		}
		if i >= worked {
			told = append(told, what)
		} else if what != "" {
			t.Fatalf("told while it worked: %s", what)
		}
	}
	return told
}

// Work that stops while threads wait for a lock is told within a minute, of a
// program that was known for a minute.
func TestStandstill(t *testing.T) {
	machine(t, "root")
	for how, want := range map[string]string{"flock": "a lock of the file", "fcntl": "a lock of the file", "mutex": "a lock of the program", "idle": ""} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "locked")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			switch how {
			case "flock":
				err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
			case "fcntl":
				err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
			}
			if err != nil {
				t.Fatal(err)
			}
			told := stopAt(t, startWaiter(t, how, file), 6, 5)
			for i, what := range told {
				if told := i >= 2 && want != ""; told != (what != "") || told && !strings.Contains(what, want) {
					t.Errorf("%d s after it stopped: %q", 10*(i+1), what)
				}
			}
			if strings.Contains(want, "file") && (!strings.Contains(told[4], file) || !strings.Contains(told[4], fmt.Sprintf("process %d", os.Getpid()))) {
				t.Errorf("said %q, want the file and who holds it", told[4])
			}
		})
	}
}

// Waits for I/O count when it does not come back, or the work had gone on for
// long before.
func TestStandstillForIO(t *testing.T) {
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		name    string
		before  time.Duration
		comes   bool // the I/O, again and again
		got     float64
		waiting []int
		first   int // look at which it is told; 0: never
	}{
		{"hangs", time.Minute, false, 0, []int{7}, 3},
		{"slow, of a job", time.Minute, true, 0, []int{7}, 0},
		{"slow, of a server", time.Hour, true, 6e4, []int{7, 8, 9}, 7},
		{"small files, of a backup", time.Hour, true, 2e6, []int{7}, 0},
	} {
		x := &stand{}
		first := 0
		for look := 1; look <= 10 && first == 0; look++ {
			b := blockedThread{pid: 7, tid: c.waiting[look%len(c.waiting)], waits: waitsIO}
			if c.comes {
				b.switches = uint64(look)
			}
			if on := x.add(at.Add(time.Duration(look)*10*time.Second), &detect.Fell{Before: c.before, Is: detect.Did{Got: c.got, Waits: 1}}, []blockedThread{b}); len(on) > 0 {
				first = look
			}
		}
		if first != c.first {
			t.Errorf("%s: told at look %d, want %d", c.name, first, c.first)
		}
	}
}

// Threads that wait far more than they did are told within a minute, of a program
// that was known for a minute; what blocks for something else than a lock is no
// lock.
func TestWaiting(t *testing.T) {
	machine(t, "root")
	busy := detect.Did{Chars: 1e6, CPU: 0.1, Got: 1e6, Waits: 0.1}
	for _, c := range []struct {
		how  string
		then detect.Did
		want string
	}{
		{"vfork", detect.Did{Chars: 1.5e5, CPU: 0.01, Got: 1.5e5, Waits: 3}, "wait for I/O"},
		{"vfork", detect.Did{Chars: 1e6, CPU: 0.1, Got: 1e6, Waits: 3, Locks: 3}, ""},
		{"idle", detect.Did{Chars: 1.5e5, CPU: 0.01, Got: 1.5e5, Waits: 3}, ""},
	} {
		s, pid := newStalls(host.Live()), startWaiter(t, c.how, "")
		g, at := detect.Group{Comm: "db", Cgroup: "/db"}, time.Unix(1e9, 0)
		for i := range 12 + 6 {
			at = at.Add(10 * time.Second)
			d := busy
			if i >= 12 {
				d = c.then
			}
			s.look(at, 10*time.Second, map[detect.Group]detect.Did{g: d}, map[detect.Group][]int{g: {pid}})
			if told := s.take(at); i < 12 && len(told) > 0 {
				t.Fatalf("%s: told before: %v", c.how, told)
			}
		}
		told := s.take(at)
		if len(told) != min(len(c.want), 1) || len(told) > 0 && (told[0].Kind != sample.LimitWaiting || told[0].Of != "db /db" || !strings.Contains(told[0].What, c.want)) {
			t.Errorf("%s, %+v: told %q, want %q", c.how, c.then, told, c.want)
		}
		if pids := s.whose(told); len(told) > 0 && (len(pids) != 1 || pids[0] != pid) {
			t.Errorf("of processes %v, want %d", pids, pid)
		}
	}
}

// What a look found is told for a minute at the least, and no longer where nobody
// looks any more: the look may hang as the process does.
func TestStandstillThatNobodyLooksAt(t *testing.T) {
	for length, stands := range map[time.Duration]time.Duration{10 * time.Second: time.Minute, time.Minute: 3 * time.Minute} {
		s, at := newStalls(host.Live()), time.Unix(1e9, 0)
		s.look(at, length, nil, nil)
		s.now = []stall{{limit: sample.Limit{Kind: sample.LimitStandstill, Of: "db"}}}
		if told := s.take(at.Add(stands)); len(told) != 1 {
			t.Errorf("looks every %v: not told after %v", length, stands)
		}
		if told := s.take(at.Add(stands + time.Second)); len(told) != 0 {
			t.Errorf("looks every %v: told after %v", length, stands+time.Second)
		}
	}
}

// The pass over all threads sees those of a program that are blocked in the kernel,
// though it does nothing.
func TestBlockedThreadsAreCounted(t *testing.T) {
	machine(t, "bpf")
	s, err := tasks.Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pid, idle := startWaiter(t, "vfork", ""), startWaiter(t, "idle", "")
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.IntervalEnd} {
		if err := s.Collect(phase, r); err != nil {
			t.Fatal(err)
		}
	}
	w := r.NextWindow(time.Now().Add(10 * time.Second))
	blocked, _ := w.Value(sample.ProcWaiters, sample.Entity{PID: pid, Class: sample.ClassOther})
	if _, waits := w.Value(sample.ProcWaiters, sample.Entity{PID: idle, Class: sample.ClassOther}); blocked != 3 || waits {
		t.Errorf("%g threads are blocked, want 3; of a program without work some: %v", blocked, waits)
	}
	did, members := groupsOf(w)
	for g, pids := range members {
		if slices.Contains(pids, pid) && (did[g].Waits < 3 || did[g].Locks < 3) {
			t.Errorf("%v: %+v", g, did[g])
		}
	}
}

// What processes of one name in one cgroup do is one work.
func TestGroupsOf(t *testing.T) {
	w := sample.NewWindow(time.Unix(1e9, 0), 10*time.Second)
	put := func(pid int, comm, cgroup string, chars float64) {
		w.Processes[pid] = sample.Process{Comm: comm, MemoryCgroup: cgroup}
		w.SetSeries(sample.ProcReadChars, sample.Entity{PID: pid}, &sample.Series{Points: []sample.Point{{Value: chars}}})
	}
	put(1, "db", "/a", 100)
	put(2, "db", "/a", 200)
	put(3, "db", "/b", 50)
	set := func(m sample.Metric, pid int, class string, v float64) {
		w.SetSeries(m, sample.Entity{PID: pid, Class: class}, &sample.Series{Points: []sample.Point{{Value: v}}})
	}
	set(sample.ProcBlkioDelay, 1, "", 5)
	set(sample.ProcReadBytes, 1, "", 4000)
	set(sample.ProcWaiters, 1, sample.ClassIO, 2)
	set(sample.ProcWaiters, 2, sample.ClassIO, 1)
	set(sample.ProcWaiters, 2, sample.ClassOther, 4)
	set(sample.ProcBlkioDelay, 3, "", 25)
	did, members := groupsOf(w)
	if a, b := did[detect.Group{Comm: "db", Cgroup: "/a"}], did[detect.Group{Comm: "db", Cgroup: "/b"}]; a.Waits != 7 || a.Locks != 4 || a.Got != 400 || b.Waits != 2.5 || b.Locks != 0 || b.Got != 5 {
		t.Errorf("%+v, %+v", a, b)
	}
	if a := (detect.Group{Comm: "db", Cgroup: "/a"}); did[a].Chars != 30 || len(members[a]) != 2 || len(did) != 2 {
		t.Errorf("%v, %v", did, members)
	}
}
