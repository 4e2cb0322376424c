package threads

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the process that is observed.
func TestMain(m *testing.M) {
	if roles := os.Getenv("THREADS_ROLES"); roles == "brief" {
		var ru unix.Rusage
		for ru.Utime.Nano()+ru.Stime.Nano() < int64(70*time.Millisecond) {
			if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
				os.Exit(1)
			}
		}
		os.Exit(0)
	} else if roles == "calls" {
		if err := makeCalls(os.Getenv("THREADS_FILE")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	} else if roles == "slow" {
		if err := makeSlowReads(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	} else if roles != "" {
		if err := play(strings.Fields(roles), os.Getenv("THREADS_FILE")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// role is what a thread does for ever. It makes system calls without the Go
// runtime's knowing, so that nothing but them shows.
type role func(path string) error

func roles() map[string]role {
	return map[string]role{
		"spin":  func(string) error { return spin() },
		"sleep": func(string) error { return sleep(7 * time.Millisecond) },
		"quiet": func(string) error { return unix.Nanosleep(&unix.Timespec{Sec: 3600}, nil) },
		"mutex": func(string) error { return futexWait(0, 2) /* FUTEX_WAIT */ },
		"cond":  func(string) error { return futexWait(9, 0) /* FUTEX_WAIT_BITSET */ },
		"poll": func(string) error {
			for {
				raw(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		},
		"pipe":    func(string) error { return pingPong() },
		"tcp":     func(string) error { return receiveTCP() },
		"unix":    func(string) error { return receiveUnix() },
		"mapping": func(string) error { return mapAndUnmap() },
		"direct":  readDirect,
		"fault":   touchCold,
		"sync":    writeAndSync,
		"reread":  reread,
	}
}

// play starts a thread for each role, prints their ids, and answers each line
// of standard input with the processor clocks of all of them.
func play(names []string, path string) error {
	debug.SetGCPercent(-1) // no thread here can be stopped
	// A place to run for each, but for those that leave theirs: it takes memory.
	runtime.GOMAXPROCS(2 + len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "quiet" })))
	tids := make([]int, len(names))
	ready, failed := make(chan int), make(chan error)
	for i, name := range names {
		do := roles()[name]
		if do == nil {
			return fmt.Errorf("no role is called %q", name)
		}
		go func() {
			runtime.LockOSThread()
			tids[i] = unix.Gettid()
			ready <- i
			failed <- fmt.Errorf("%s: %w", name, do(path))
		}()
		<-ready
	}
	for i, name := range names {
		fmt.Println(name, tids[i])
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		for _, tid := range tids {
			var ts unix.Timespec
			const perThread, sched = 4, 2 // CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED: CLOCK_THREAD_CPUTIME_ID of any thread
			if err := unix.ClockGettime(int32(^tid<<3|perThread|sched), &ts); err != nil {
				return fmt.Errorf("reading the clock of thread %d: %w", tid, err)
			}
			fmt.Println(tid, ts.Nano())
		}
		select {
		case err := <-failed:
			return err
		default:
			fmt.Println("ready")
		}
	}
	return in.Err()
}

func raw(nr, a, b, c, d, e, f uintptr) (uintptr, error) {
	n, _, errno := unix.RawSyscall6(nr, a, b, c, d, e, f)
	if errno != 0 {
		return n, errno
	}
	return n, nil
}

func spin() error {
	for x := uint64(1); ; x = x*2862933555777941757 + 3037000493 {
		if x == 0 {
			return errors.New("the generator reached 0")
		}
	}
}

func sleep(d time.Duration) error {
	for {
		ts := unix.NsecToTimespec(int64(d))
		raw(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0, 0, 0, 0)
	}
}

func futexWait(op int, value uint32) error {
	for {
		word := value
		raw(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), uintptr(op|128 /* private */), uintptr(value), 0, 0, 0xffffffff)
	}
}

// pingPong answers a partner that it starts.
func pingPong() error {
	var there, back [2]int
	if err := errors.Join(unix.Pipe2(there[:], unix.O_CLOEXEC), unix.Pipe2(back[:], unix.O_CLOEXEC)); err != nil {
		return err
	}
	pass := func(from, to int) error {
		b := make([]byte, 1)
		for {
			if _, err := raw(unix.SYS_READ, uintptr(from), uintptr(unsafe.Pointer(&b[0])), 1, 0, 0, 0); err != nil {
				return err
			}
			if _, err := raw(unix.SYS_WRITE, uintptr(to), uintptr(unsafe.Pointer(&b[0])), 1, 0, 0, 0); err != nil {
				return err
			}
		}
	}
	go func() {
		runtime.LockOSThread()
		fmt.Fprintln(os.Stderr, pass(there[0], back[1]))
	}()
	if _, err := unix.Write(there[1], []byte{1}); err != nil {
		return err
	}
	return pass(back[0], there[1])
}

func receive(fd int) error {
	b := make([]byte, 1)
	for {
		if n, err := raw(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1, 0, 0, 0); n == 0 || err != nil {
			return fmt.Errorf("%d bytes, %w", n, err)
		}
	}
}

func receiveTCP() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	return receive(int(f.Fd())) // Fd makes it blocking
}

func receiveUnix() error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return receive(fds[0])
}

func mapAndUnmap() error {
	for {
		at, err := raw(unix.SYS_MMAP, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE, ^uintptr(0), 0)
		if err != nil {
			return err
		}
		if _, err := raw(unix.SYS_MUNMAP, at, 1<<20, 0, 0, 0, 0); err != nil {
			return err
		}
	}
}

const fileBytes = 16 << 20

func readDirect(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for at := 0; ; at = (at + len(b)) % fileBytes {
		if _, err := raw(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(at), 0, 0); err != nil {
			return err
		}
	}
}

// touchCold reads a page here and there of a mapping that is dropped again.
func touchCold(path string) error {
	fd, err := unix.Open(path+".mapped", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, fileBytes, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := unix.Madvise(b, unix.MADV_RANDOM); err != nil {
		return err
	}
	var sum byte
	for {
		for at := 0; at < len(b); at += 1 << 16 {
			sum += b[at]
		}
		if sum != 0 {
			return errors.New("the file is not empty")
		}
		if err := errors.Join(unix.Madvise(b, unix.MADV_DONTNEED), unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)); err != nil {
			return err
		}
	}
}

// reread reads the file through the page cache, again and again.
func reread(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	b := make([]byte, 1<<20)
	for at := 0; ; at = (at + len(b)) % (4 * fileBytes) {
		if _, err := raw(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(at), 0, 0); err != nil {
			return err
		}
	}
}

func writeAndSync(path string) error {
	fd, err := unix.Open(path+".log", unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return err
	}
	b := make([]byte, 4096)
	for at := 0; ; at = (at + len(b)) % fileBytes {
		if _, err := raw(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(at), 0, 0); err != nil {
			return err
		}
		if _, err := raw(unix.SYS_FSYNC, uintptr(fd), 0, 0, 0, 0, 0); err != nil {
			return err
		}
	}
}

// troupe is the observed process.
type troupe struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   *os.File
	out  *bufio.Scanner
	tids map[string][]int
}

// start starts threads with these roles in one process.
func start(t *testing.T, path string, names ...string) *troupe {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &troupe{t: t, in: w, tids: map[string][]int{}}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), "THREADS_ROLES="+strings.Join(names, " "), "THREADS_FILE="+path, "GODEBUG=asyncpreemptoff=1")
	p.cmd.Stdin, p.cmd.Stderr = r, os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		w.Close()
	})
	p.out = bufio.NewScanner(out)
	p.answer(func(key string, value uint64) { p.tids[key] = append(p.tids[key], int(value)) })
	time.Sleep(300 * time.Millisecond) // until the Go runtime is done with its threads
	return p
}

func (p *troupe) answer(f func(key string, value uint64)) {
	p.t.Helper()
	for p.out.Scan() {
		if p.out.Text() == "ready" {
			return
		}
		key, value, _ := strings.Cut(p.out.Text(), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			p.t.Fatalf("the observed process said %q", p.out.Text())
		}
		f(key, n)
	}
	p.t.Fatal("the observed process ended")
}

// clocks are the CLOCK_THREAD_CPUTIME_ID of all threads, by thread id.
func (p *troupe) clocks() map[int]time.Duration {
	p.t.Helper()
	if _, err := p.in.WriteString("\n"); err != nil {
		p.t.Fatal(err)
	}
	all := map[int]time.Duration{}
	p.answer(func(key string, value uint64) {
		tid, err := strconv.Atoi(key)
		if err != nil {
			p.t.Fatal(err)
		}
		all[tid] = time.Duration(value)
	})
	return all
}

// delays are the times that threads waited for a processor: the second figure
// of /proc/PID/task/TID/schedstat.
func (p *troupe) delays() map[int]time.Duration {
	p.t.Helper()
	all := map[int]time.Duration{}
	for _, tids := range p.tids {
		for _, tid := range tids {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", p.cmd.Process.Pid, tid))
			if err != nil {
				p.t.Fatal(err)
			}
			n, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			all[tid] = time.Duration(n)
		}
	}
	return all
}

const (
	goodCalls = 10007
	badCalls  = 13
)

// makeCalls reads a file a known number of times and prints how long it took,
// in nanoseconds.
func makeCalls(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	b := make([]byte, 4096)
	part := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	var took time.Duration
	runtime.LockOSThread()
	for i := range goodCalls + badCalls {
		from := fd
		if i < badCalls {
			from = -1
		}
		began := time.Now()
		n, err := raw(unix.SYS_PREADV, uintptr(from), uintptr(unsafe.Pointer(&part)), 1, 0, 0, 0) // which no loader uses
		took += time.Since(began)
		if i < badCalls && err != unix.EBADF || i >= badCalls && (err != nil || n != uintptr(len(b))) {
			return fmt.Errorf("call %d: %d, %v", i, n, err)
		}
	}
	fmt.Println(took.Nanoseconds())
	return nil
}
