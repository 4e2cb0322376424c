package agent

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/sample"
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
	for range 3 {
		go func() {
			runtime.LockOSThread()
			switch how {
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
		for _, l := range s.take() {
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
		waiting []int
		first   int // look at which it is told; 0: never
	}{
		{"hangs", time.Minute, false, []int{7}, 3},
		{"slow, of a job", time.Minute, true, []int{7}, 0},
		{"slow, of a server", time.Hour, true, []int{7, 8, 9}, 7},
	} {
		x := &stand{}
		first := 0
		for look := 1; look <= 10 && first == 0; look++ {
			b := blockedThread{pid: 7, tid: c.waiting[look%len(c.waiting)], waits: waitsIO}
			if c.comes {
				b.switches = uint64(look)
			}
			if on := x.add(at.Add(time.Duration(look)*10*time.Second), &detect.Fell{Before: c.before}, []blockedThread{b}); len(on) > 0 {
				first = look
			}
		}
		if first != c.first {
			t.Errorf("%s: told at look %d, want %d", c.name, first, c.first)
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
	did, members := groupsOf(w)
	if a := (detect.Group{Comm: "db", Cgroup: "/a"}); did[a].Chars != 30 || len(members[a]) != 2 || len(did) != 2 {
		t.Errorf("%v, %v", did, members)
	}
}
