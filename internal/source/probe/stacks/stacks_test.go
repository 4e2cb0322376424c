package stacks

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// observe runs f under the probe, on a thread of its own that waits when the
// window begins.
func observe(t *testing.T, o Options, f func()) (rows []Row, tid int, losses Losses, length time.Duration) {
	t.Helper()
	h := host.Live()
	h.Self = 0 // here it is this process that is looked at
	o.PID = os.Getpid()
	p, err := Open(h, o)
	bpftest.Need(t, "bpf", err)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	ready, start, done := make(chan int), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and end the thread with the goroutine
		ready <- unix.Gettid()
		<-start
		f()
		close(done)
	}()
	tid = <-ready
	nap(20 * time.Millisecond) // let it wait
	into := sample.NewRecorder(time.Now())
	if err := p.Begin(into); err != nil {
		t.Fatal(err)
	}
	close(start)
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(100 * time.Millisecond):
			if err := p.Tick(into, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if length, err = p.End(into); err != nil {
		t.Fatal(err)
	}
	if losses, err = p.Losses(); err != nil {
		t.Fatal(err)
	}
	if losses.Rows != 0 || losses.Stacks != 0 || losses.Threads != 0 || losses.Folded != 0 {
		t.Errorf("lost: %+v", losses)
	}
	return p.Rows(), tid, losses, length
}

func of(rows []Row, tid int) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.TID != tid })
}

// functions are the names that Go itself has for addresses, those of functions
// that were inlined included.
func functions(ips []uint64) (names []string) {
	var pcs []uintptr
	for _, ip := range ips {
		pcs = append(pcs, uintptr(ip))
	}
	frames := runtime.CallersFrames(pcs)
	for more := len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		names = append(names, f.Function)
	}
	return names
}

// nap sleeps in the kernel: Go's own sleep would not. Signals of Go's scheduler
// may interrupt it: how often is what it returns.
func nap(d time.Duration) (interrupted int) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	for unix.Nanosleep(&ts, &ts) == syscall.EINTR {
		interrupted++
	}
	return interrupted
}

// Every wait of a known number and length is counted, with its user stack.
func TestEveryWaitIsCounted(t *testing.T) {
	for name, o := range map[string]Options{
		"taken on return":  {Min: time.Millisecond},
		"taken on leaving": {Min: time.Millisecond, eager: true}, // as older kernels need it
	} {
		t.Run(name, func(t *testing.T) { everyWaitIsCounted(t, o) })
	}
}

// everyWaitIsCounted looks again where the host hid a switch, which the probe
// cannot know: what is wrong every time is wrong.
func everyWaitIsCounted(t *testing.T, o Options) {
	t.Helper()
	for try := 1; ; try++ {
		wrong := countWaits(t, o)
		if wrong == "" {
			return
		}
		if try == 4 {
			t.Fatal(wrong)
		}
		t.Logf("try %d: %s", try, wrong)
	}
}

func countWaits(t *testing.T, o Options) (wrong string) {
	t.Helper()
	const naps, each = 47, 5 * time.Millisecond
	var interrupted uint64
	rows, tid, _, _ := observe(t, o, func() {
		for range naps {
			interrupted += uint64(nap(each))
		}
	})
	var count, preempted uint64
	var sum time.Duration
	for _, r := range of(rows, tid) {
		names := functions(r.User.IPs)
		if !slices.Contains(names, "iocause/internal/source/probe/stacks.nap") {
			continue
		}
		sum += r.Time
		if r.How&Preempted != 0 { // on its way to sleep; on a busy machine until it was over
			preempted += r.Count
			continue
		}
		count += r.Count
		if r.Kernel.IPs == nil || names[len(names)-1] != "runtime.goexit" {
			t.Errorf("a nap in %d functions of the kernel and %q", len(r.Kernel.IPs), names)
		}
	}
	if count > naps+interrupted || count+preempted < naps || sum < naps*(each-each/50) {
		return fmt.Sprintf("%d naps and %d preemptions of %v in all, want %d naps, %d times interrupted, of %v or more", count, preempted, sum, naps, interrupted, naps*each)
	}
	return ""
}

// The time off the processor is the wall time less the time on it, whatever
// the threshold, and whether waits are long or short.
func TestTimeAddsUp(t *testing.T) {
	for _, c := range []struct {
		name string
		min  time.Duration
		nap  time.Duration
	}{
		{"all waits", 0, 4 * time.Millisecond},
		{"waits below the threshold", 10 * time.Millisecond, 4 * time.Millisecond},
		{"waits above it", time.Millisecond, 20 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wall, cpu, stolen, spun time.Duration
			rows, tid, _, _ := observe(t, Options{Min: c.min}, func() {
				start, busy, taken := time.Now(), threadTime(t), bpftest.Stolen(t)
				for time.Since(start) < time.Second {
					nap(c.nap)
					ran := threadTime(t)
					for from := time.Now(); time.Since(from) < time.Millisecond; {
					}
					spun += threadTime(t) - ran
				}
				wall, cpu, stolen = time.Since(start), threadTime(t)-busy, bpftest.Stolen(t)-taken
			})
			var off time.Duration
			for _, r := range of(rows, tid) {
				if r.How&Earlier == 0 { // that is the wait for the start
					off += r.Time
				}
			}
			want := wall - cpu
			// What has not added up to the threshold is not there. A thread's own clock runs
			// from where it is chosen; ours, where the kernel tells that, from where it is back.
			most, least := max(want+want/50, wall-spun), want-want/50-c.min-stolen
			if off < least || off > most {
				t.Errorf("off the processor for %v, want %v (%v less %v) within 2 %%, or up to the %v that it did not spin; the hypervisor took %v",
					off, want, wall, cpu, wall-spun, stolen)
			}
		})
	}
}

func threadTime(t *testing.T) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Error(err)
	}
	return time.Duration(ts.Nano())
}

// A wait that began before the window and goes on after it is as long as the
// window, and its user stack is found although the thread never runs.
func TestAWaitLongerThanTheWindow(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	tids, done := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		tids <- unix.Gettid()
		readOne(t, pipe[0])
		close(done)
	}()
	tid := <-tids
	nap(50 * time.Millisecond) // let it get there
	rows, _, _, length := observe(t, Options{Min: time.Millisecond}, func() { nap(300 * time.Millisecond) })
	if _, err := unix.Write(pipe[1], []byte{1}); err != nil {
		t.Fatal(err)
	}
	<-done
	unix.Close(pipe[0])
	unix.Close(pipe[1])
	its := of(rows, tid)
	if len(its) != 1 {
		t.Fatalf("%d rows, want 1: %+v", len(its), its)
	}
	r := its[0]
	if r.How&(GoesOn|Earlier) != GoesOn|Earlier || r.Count != 1 {
		t.Errorf("%+v", r)
	}
	if diff := (r.Time - length).Abs(); diff > 5*time.Millisecond {
		t.Errorf("waited for %v of %v", r.Time, length)
	}
	names := functions(r.User.IPs)
	if !slices.Contains(names, "iocause/internal/source/probe/stacks.readOne") {
		t.Errorf("its functions are %q", names)
	}
}

// The stack of a thread that ran on since it was looked at is not that of its
// wait.
func TestRanAgain(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	tids, done := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and ends with this function
		tids <- unix.Gettid()
		readOne(t, pipe[0])
		readOne(t, pipe[0])
		close(done)
	}()
	tid := <-tids
	settled := func() (runs uint64) {
		// Go's scheduler lets it sleep, too, before it comes to read.
		for began := time.Now(); !sleeps(t, tid) || !readsAPipe(t, tid); nap(time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				t.Fatal("the thread does not wait")
			}
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
		bpftest.Need(t, "bpf", err)
		if _, err := fmt.Sscanf(string(text), "%d %d %d", new(uint64), new(uint64), &runs); err != nil {
			t.Fatal(err)
		}
		return runs
	}
	runs := settled()
	if ranAgain(host.Live(), uint32(tid), runs) {
		t.Error("a thread that waits is taken for one that ran")
	}
	wakeReader(t, pipe[1])
	for began := time.Now(); settled() == runs && time.Since(began) < 30*time.Second; nap(time.Millisecond) {
	}
	if !ranAgain(host.Live(), uint32(tid), runs) {
		t.Error("a thread that ran is taken for one that waits")
	}
	wakeReader(t, pipe[1])
	<-done
	unix.Close(pipe[0])
	unix.Close(pipe[1])
	if !ranAgain(host.Live(), 1<<30, runs) {
		t.Error("a thread that is not there is taken for one that waits")
	}
}

// Who writes into the pipe is who wakes its reader.
func TestWakers(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	const wakes = 13
	rows, tid, _, _ := observe(t, Options{Min: time.Millisecond, Wakers: true}, func() {
		reader := unix.Gettid()
		go func() {
			runtime.LockOSThread()
			for range wakes {
				for !sleeps(t, reader) {
					nap(time.Millisecond)
				}
				nap(5 * time.Millisecond)
				wakeReader(t, pipe[1])
			}
			unix.Close(pipe[1])
		}()
		var b [1]byte
		for {
			if n, err := unix.Read(pipe[0], b[:]); n == 0 || err != nil {
				return
			}
		}
	})
	var woken uint64
	for _, r := range of(rows, tid) {
		if r.Waker == nil {
			continue
		}
		if slices.Contains(functions(r.Waker.User.IPs), "iocause/internal/source/probe/stacks.wakeReader") {
			if r.Waker.TGID != os.Getpid() {
				t.Errorf("the waker is process %d", r.Waker.TGID)
			}
			woken += r.Count
		}
	}
	if woken != wakes {
		t.Errorf("woken %d times by the writer, want %d", woken, wakes)
	}
}

// sleeps tells whether a thread waits: field 3 of /proc/self/task/TID/stat.
func sleeps(t *testing.T, tid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	if err != nil {
		t.Error(err)
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "S")
}

// readsAPipe tells whether a thread is in read(2).
func readsAPipe(t *testing.T, tid int) bool {
	in, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.HasPrefix(in, []byte(strconv.Itoa(unix.SYS_READ)+" "))
}

//go:noinline
func readOne(t *testing.T, fd int) {
	b := make([]byte, 1)
	if n, err := unix.Read(fd, b); n != 1 || err != nil {
		t.Error(n, err)
	}
	runtime.KeepAlive(b)
}

//go:noinline
func wakeReader(t *testing.T, fd int) {
	if _, err := unix.Write(fd, []byte{1}); err != nil {
		t.Error(err)
	}
}

// A thread that runs all the time has about a sample for every hundredth of a
// second of its own time, in the function that it runs in.
func TestSamples(t *testing.T) {
	const hz = 499
	var busy, wall, calls time.Duration
	fastest := time.Hour
	var kernels uint64
	rows, tid, _, _ := observe(t, Options{OnCPU: true, Hz: hz}, func() {
		taken := sampled(t, hz)
		from, began := threadTime(t), time.Now()
		defer func() { wall, kernels = time.Since(began), taken() }()
		for x := uint64(1); busy < time.Second; {
			before := busy
			x = burn(x)
			busy = threadTime(t) - from
			fastest, calls = min(fastest, busy-before), calls+1
		}
	})
	var all, inside uint64
	var elsewhere []string
	for _, r := range of(rows, tid) {
		all += r.Count
		if in := functions(r.User.IPs); slices.Contains(in, "iocause/internal/source/probe/stacks.burn") {
			inside += r.Count
		} else {
			elsewhere = append(elsewhere, fmt.Sprintf("%d in %v", r.Count, in))
		}
	}
	// Interrupts, and what the machine's host takes, are in the samples and not
	// in the thread's time. Of timers that come late, as on an emulated machine, the
	// kernel makes one sample: no more than it can make are wanted.
	least, most := 0.9*min(busy.Seconds()*hz, float64(kernels)), 1.1*wall.Seconds()*hz
	if kernels == 0 || float64(all) < least || float64(all) > most {
		t.Errorf("%d samples of %v in %v, of which the kernel makes %d, want %.0f to %.0f", all, busy, wall, kernels, least, most)
	}
	// Go's scheduler interrupts the function, and on an emulated machine takes a fifth of
	// the time: each call of it was as long as the fastest at least.
	if share := float64(calls*fastest) / float64(busy); float64(inside) < 0.9*share*float64(all) {
		t.Errorf("%d of %d samples are in the function that ran %.3f of the time at least, %s", inside, all, share, strings.Join(elsewhere, ", "))
	}
}

// sampled lets the kernel sample the thread that calls, into memory of its own, and
// returns how many samples it took.
func sampled(t *testing.T, hz uint64) func() uint64 {
	const pages = 16
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: hz, Sample_type: unix.PERF_SAMPLE_TID, Bits: unix.PerfBitFreq}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Error(err)
		return func() uint64 { return 0 }
	}
	ring, err := unix.Mmap(fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Error(err)
		return func() uint64 { return 0 }
	}
	return func() uint64 {
		defer unix.Close(fd)
		defer unix.Munmap(ring)
		// Where it takes long to sample, the kernel makes fewer, and tells of that beside them.
		records := ring[os.Getpagesize():][:(*unix.PerfEventMmapPage)(unsafe.Pointer(&ring[0])).Data_head]
		samples := uint64(0)
		for len(records) > 0 { // each begins with its kind (4 bytes), flags (2) and length (2)
			if binary.NativeEndian.Uint32(records) == unix.PERF_RECORD_SAMPLE {
				samples++
			}
			records = records[binary.NativeEndian.Uint16(records[6:]):]
		}
		return samples
	}
}

//go:noinline
func burn(x uint64) uint64 {
	for i := range uint64(1 << 18) {
		x = x*31 + i
	}
	return x
}
