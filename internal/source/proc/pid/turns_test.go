package pid

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

func TestMain(m *testing.M) {
	if job := os.Getenv("PID_JOB"); job != "" {
		n, _ := strconv.Atoi(os.Getenv("PID_THREADS"))
		compute(job, n)
	}
	os.Exit(m.Run())
}

// compute has threads that compute: "turns" one at a time, as the global lock of an
// interpreter has it, "pool" one of them while the others wait for work with a time
// limit, "free" all at once for a part of the time.
func compute(job string, threads int) {
	var word uint32 // 0: nobody has the lock
	var asked atomic.Bool
	sleep := func(d time.Duration) (late bool) {
		t := unix.NsecToTimespec(int64(d))
		_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), 128, uintptr(atomic.LoadUint32(&word)), uintptr(unsafe.Pointer(&t)), 0, 0)
		return errno == unix.ETIMEDOUT
	}
	spin := func(d time.Duration, until func() bool) {
		for began := time.Now(); time.Since(began) < d && !until(); {
		}
	}
	never := func() bool { return false }
	for i := range threads {
		go func() {
			runtime.LockOSThread()
			for {
				switch {
				case job == "turns":
					for !atomic.CompareAndSwapUint32(&word, 0, uint32(i+1)) {
						if sleep(5 * time.Millisecond) {
							asked.Store(true)
						}
					}
					asked.Store(false)
					spin(time.Second, asked.Load)
					atomic.StoreUint32(&word, 0)
					_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), 129, 1, 0, 0, 0)
					for atomic.LoadUint32(&word) == 0 { // who waits is next
						unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
					}
				case job == "pool" && i == 0:
					spin(time.Second, never)
				case job == "pool":
					sleep(5 * time.Millisecond)
				default:
					spin(7*time.Millisecond, never)
					unix.Nanosleep(&unix.Timespec{Nsec: 7_000_000 * int64(threads-1)}, nil)
				}
			}
		}()
	}
	select {}
}

// Threads that compute by turns are told from one that computes beside idle workers,
// and from threads that take one processor together.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		job     string
		threads int
		turns   bool
	}{{"turns", 3, true}, {"pool", 4, false}, {"free", 4, false}} {
		looks, turns, threads := 0.0, 0.0, 0.0
		found := func() bool { return looks == 4*looksPerTick && turns >= 0.6*looks && threads == float64(c.threads) }
		// beside other tests it may not get a processor, or who waits queues for one
		for tries := 0; tries < 15 && (looks == 0 || c.turns && !found()); tries++ {
			looks, turns, threads = lookedAt(t, c.job, c.threads)
		}
		t.Logf("%s: %g of %g looks, %g threads", c.job, turns, looks, threads)
		if looks == 0 || c.turns && !found() || !c.turns && turns > 0.5*looks && threads > 1 {
			t.Errorf("%s: by turns in %g of %g looks, %g threads", c.job, turns, looks, threads)
		}
	}
}

// lookedAt is what four ticks found of a process with such threads.
func lookedAt(t *testing.T, job string, n int) (looks, turns, threads float64) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PID_JOB="+job, "PID_THREADS="+strconv.Itoa(n),
		"GOMAXPROCS=16") // no thread waits for Go to let it run
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	time.Sleep(100 * time.Millisecond)
	src, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.Tick, sample.Tick, sample.Tick, sample.Last} {
		if err := src.Collect(phase, r); err != nil {
			t.Error(err)
		}
		if phase == sample.First {
			time.Sleep(time.Second)
		}
	}
	w, e := r.Window(time.Now()), sample.Entity{PID: cmd.Process.Pid}
	looks, _ = w.Sum(sample.ProcLooks, e)
	turns, _ = w.Sum(sample.ProcTurns, e)
	threads, _ = w.Value(sample.ProcTurnThreads, e)
	return looks, turns, threads
}

// Who is alone for a moment because the one that computes was asked for the lock does
// not take turns.
func TestByTurns(t *testing.T) {
	look := func(runs int, asleep ...int) turnLook {
		l := turnLook{running: []int{runs}, asleep: map[int]uint64{}}
		for _, tid := range asleep {
			l.asleep[tid] = 0x7f10
		}
		return l
	}
	main, poll, none := look(1, 2, 3), look(2, 1, 3), turnLook{asleep: map[int]uint64{1: 0x7f10}}
	// of forty that wait, two may be awake to ask for their turn, and not twenty
	crowd := func(runs, awake int) turnLook {
		l := turnLook{running: []int{runs}, asleep: map[int]uint64{}}
		for tid := 1; tid <= 41; tid++ {
			switch {
			case tid == runs:
			case awake > 0 && tid > 2:
				l.running, awake = append(l.running, tid), awake-1
			default:
				l.asleep[tid] = 0x7f10
			}
		}
		return l
	}
	for _, c := range []struct {
		looks              []turnLook
		one, idle, threads int
	}{
		{nil, 0, 0, 0},
		{slices.Repeat([]turnLook{main, poll, look(3, 1, 2)}, 8), 24, 0, 3},
		{append(slices.Repeat([]turnLook{main}, 22), poll, none), 0, 1, 1},
		{append(slices.Repeat([]turnLook{main, poll}, 8), none, none), 16, 2, 2},
		{slices.Repeat([]turnLook{main, poll, look(1), look(2)}, 4), 8, 0, 2}, // the other one sleeps elsewhere
		{[]turnLook{crowd(1, 0), crowd(2, 0), crowd(1, 2), crowd(2, 20)}, 3, 0, 2},
	} {
		if one, idle, threads := byTurns(c.looks); one != c.one || idle != c.idle || threads != c.threads {
			t.Errorf("%d looks: %d by turns, %d idle, %d threads; want %+v", len(c.looks), one, idle, threads, c)
		}
	}
}

func TestTimedFutex(t *testing.T) {
	futex := strconv.Itoa(unix.SYS_FUTEX)
	for line, want := range map[string]uint64{
		futex + " 0x7f10 0x189 0x0 0x7ffd0 0x0 0xffffffff 0x7ff 0x7fe": 0x7f10, // FUTEX_WAIT_BITSET, private, realtime
		futex + " 0x7f10 0x80 0x2 0x7ffd0 0x0 0x0 0x7ff 0x7fe":         0x7f10, // FUTEX_WAIT, private
		futex + " 0x7f10 0x189 0x0 0x0 0x0 0xffffffff 0x7ff 0x7fe":     0,      // without a limit
		futex + " 0x7f10 0x81 0x2 0x7ffd0 0x0 0x0 0x7ff 0x7fe":         0,      // FUTEX_WAKE
		"999 0x7f10 0x80 0x2 0x7ffd0 0x0 0x0 0x7ff 0x7fe":              0,
		"running": 0, "": 0, "-1 0x7ff 0x7fe": 0, futex + " x 0x80 0x2 0x7ffd0": 0,
	} {
		word, ok := timedFutex([]byte(line))
		if ok != (want != 0) || ok && word != want {
			t.Errorf("%q: %#x %v, want %#x", line, word, ok, want)
		}
	}
}
