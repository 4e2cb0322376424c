package locks

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// onThread runs f on a thread of its own and closes the channel at its end.
func onThread(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
	return done
}

// Two threads that read through one open file take turns: the second waits for
// the mutex of its position while the first waits for the disk.
func TestMutexOfTheKernel(t *testing.T) {
	const rounds, pages = 7, 16384
	path := bpftest.File(t, pages)
	for try := 1; ; try++ {
		var late int
		var waited time.Duration
		w := bpftest.Observe(t, Open, func() {
			late, waited = 0, 0
			for range rounds {
				fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
				if err != nil {
					t.Fatal(err)
				}
				big, small := bpftest.Aligned(t, pages*4096), bpftest.Aligned(t, 4096)
				var inside atomic.Bool
				var end time.Time
				first := onThread(func() {
					inside.Store(true)
					if n, err := unix.Read(fd, big); n != len(big) {
						t.Errorf("read %d bytes: %v", n, err)
					}
					end = time.Now()
				})
				for !inside.Load() {
					time.Sleep(100 * time.Microsecond)
				}
				time.Sleep(3 * time.Millisecond)
				began := time.Now()
				<-onThread(func() { _, _ = unix.Read(fd, small) })
				<-first
				if d := end.Sub(began); d > time.Millisecond {
					waited += d
				} else {
					late++ // the first was through already
				}
				unix.Close(fd)
			}
		})
		if late > 0 && try < 5 {
			t.Logf("try %d: %d of %d reads were over before the second began", try, late, rounds)
			continue
		}
		e := sample.Entity{PID: os.Getpid(), Class: "mutex"}
		n, _ := w.Sum(sample.LockWaits, e)
		s, _ := w.Sum(sample.LockWait, e)
		in, _ := w.Sum(sample.LockWaitIn, sample.Entity{PID: os.Getpid(), Class: "read"})
		own, _ := w.Sum(sample.LockOwn, sample.Entity{PID: os.Getpid()})
		if n != rounds {
			t.Errorf("%g waits for a mutex, want %d", n, rounds)
		}
		if want := waited.Seconds(); s < 0.7*want-0.005 || s > want+0.02 {
			t.Errorf("they waited %g s, want about %g", s, want)
		}
		others := 0.0 // locks that this process, with all the threads of its tests, waited for beside it
		w.Each(sample.LockWait, func(o sample.Entity, x *sample.Series) {
			if o.PID == e.PID && o.Class != e.Class {
				others += x.Sum()
			}
		})
		const exact = 1e-9 // of sums of seconds
		if in < s-exact || in > s+others+exact || own < s-exact || own > s+others+exact {
			t.Errorf("of %g s, %g s in read and %g s for the own process, want all; %g s for other locks", s, in, own, others)
		}
		return
	}
}

// Who is first in line for a mutex is woken, finds that somebody has taken it meanwhile,
// and sleeps on: that is one wait, as long as both together.
func TestAMutexThatIsTakenAway(t *testing.T) {
	const rounds, pages = 23, 4096
	path := bpftest.File(t, pages)
	var took time.Duration
	w := bpftest.Observe(t, Open, func() {
		took = 0
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		var stop atomic.Bool
		big := bpftest.Aligned(t, pages*4096)
		reader := onThread(func() { // has the mutex nearly all of the time, and sleeps in it
			for !stop.Load() {
				if _, err := unix.Read(fd, big); err != nil {
					t.Error(err)
				}
				_, _ = unix.Seek(fd, 0, unix.SEEK_SET)
			}
		})
		<-onThread(func() {
			for range rounds {
				began := time.Now()
				if _, err := unix.Seek(fd, 0, unix.SEEK_CUR); err != nil {
					t.Error(err)
				}
				took += time.Since(began)
				time.Sleep(time.Millisecond)
			}
		})
		stop.Store(true)
		<-reader
	})
	in, _ := w.Sum(sample.LockWaitIn, sample.Entity{PID: os.Getpid(), Class: "lseek"})
	t.Logf("%d calls took %v, of which they waited %g s", rounds, took, in)
	if in < 0.75*took.Seconds() || in > 1.5*took.Seconds() { // less what it waited for a processor; the reader's own calls may wait, too
		t.Errorf("they waited %g s, want the %v that the calls took", in, took)
	}
}

// Threads count in the window in which they waited.
func TestThreadsOfAWindow(t *testing.T) {
	h := host.Live()
	h.Self = 0 // here it is this process that is looked at
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer source.Close()
	r := sample.NewRecorder(time.Now())
	path := bpftest.File(t, 16384)
	observe := func(phase sample.Phase, waiters int) float64 {
		t.Helper()
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		big, small := bpftest.Aligned(t, 16384*4096), bpftest.Aligned(t, 4096)
		var all []<-chan struct{}
		for i := range waiters {
			buf := small
			if i%2 == 0 { // half of them keep the others waiting for more than 10 ms
				buf = big
			}
			all = append(all, onThread(func() {
				for range 3 {
					_, _ = unix.Seek(fd, 0, unix.SEEK_SET)
					_, _ = unix.Read(fd, buf)
				}
			}))
		}
		for _, done := range all {
			<-done
		}
		r.At(time.Now())
		bpftest.Collect(t, source, phase, r)
		n, _ := r.NextWindow(time.Now()).Value(sample.LockThreads, sample.Entity{PID: os.Getpid()})
		return n
	}
	observe(sample.First, 0)
	many, few := observe(sample.IntervalEnd, 12), observe(sample.IntervalEnd, 3)
	if many < 8 || few > 3 || few < 1 {
		t.Errorf("%g threads waited where 12 could, then %g where 3 could", many, few)
	}
	if none := observe(sample.IntervalEnd, 0); none != 0 {
		t.Errorf("%g threads waited where none could", none)
	}
}

func futex(word *uint32, op int, value uint32, timeout *unix.Timespec) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(value), uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// watchSelf opens the probe, which looks at this process here, and what takes its
// figures.
func watchSelf(t *testing.T) (p *Probe, r *sample.Recorder, collect func(sample.Phase)) {
	t.Helper()
	h := host.Live()
	h.Self = 0
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	r = sample.NewRecorder(time.Now())
	return source.(*Probe), r, func(phase sample.Phase) {
		t.Helper()
		r.At(time.Now())
		bpftest.Collect(t, source, phase, r)
	}
}

// wakeOne wakes a thread that waits on a futex of the process's own.
func wakeOne(word *uint32) {
	const wake, private = 1, 128 // FUTEX_WAKE, FUTEX_PRIVATE_FLAG
	futex(word, wake|private, 1, nil)
}

// untilFound is longer than any machine takes to look: the thread is woken before.
const untilFound = 20 * time.Second

// sleepOnFutexes makes a thread wait on a futex with a value, n times 20 ms,
// after a first wait that a look of the probe falls into. It returns the window and
// how long these waits took by the clock.
func sleepOnFutexes(t *testing.T, value uint32, n int) (w *sample.Window, took time.Duration) {
	t.Helper()
	const wait, private = 0, 128 // FUTEX_WAIT, FUTEX_PRIVATE_FLAG
	p, r, collect := watchSelf(t)
	defer p.Close()
	collect(sample.First)
	word := value
	followed := make(chan struct{})
	done := onThread(func() {
		futex(&word, wait|private, value, &unix.Timespec{Nsec: 200e6})
		<-followed
		start := time.Now()
		for range n {
			futex(&word, wait|private, value, &unix.Timespec{Nsec: 20e6})
		}
		took = time.Since(start)
	})
	time.Sleep(50 * time.Millisecond)
	collect(sample.Tick)
	time.Sleep(200 * time.Millisecond)
	close(followed)
	<-done
	collect(sample.Last)
	return r.Window(time.Now()), took
}

// Threads that wait for a lock of their program are noticed by a look, and
// followed from then on.
func TestFutexes(t *testing.T) {
	const n = 13
	e := sample.Entity{PID: os.Getpid(), Class: "futex"}
	var w *sample.Window
	var took time.Duration
	var waits float64
	for try := 1; try <= 5 && waits != n; try++ {
		w, took = sleepOnFutexes(t, 2, n)
		if waits, _ = w.Sum(sample.LockWaits, e); waits < n {
			t.Logf("try %d: this host hid %g of %d switches", try, n-waits, n)
		} else if waits > n {
			t.Fatalf("%g waits, want %d", waits, n)
		}
	}
	s, _ := w.Sum(sample.LockWait, e)
	followed, _ := w.Value(sample.LockFutexes, sample.Entity{})
	if waits != n {
		t.Errorf("%g waits, want %d", waits, n)
	}
	if s < n*0.02 || s > took.Seconds() {
		t.Errorf("they took %g s, want %g to %g", s, n*0.02, took.Seconds())
	}
	if threads, _ := w.Value(sample.LockThreads, sample.Entity{PID: os.Getpid()}); threads != 1 {
		t.Errorf("%g threads waited, want 1", threads)
	}
	if followed < n*0.02 || followed > w.Seconds() {
		t.Errorf("followed for %g s of %g", followed, w.Seconds())
	}
}

// Following ends when nobody is suspected any more, and begins anew. A wait whose
// end fell in between is not counted as one that lasted all that time.
func TestFollowingEnds(t *testing.T) {
	const wait, private = 0, 128 // FUTEX_WAIT, FUTEX_PRIVATE_FLAG
	p, r, collect := watchSelf(t)
	defer p.Close()
	p.patience = 0
	follow := func() {
		for began := time.Now(); p.following.IsZero(); collect(sample.Tick) {
			if time.Since(began) > 10*time.Second {
				t.Fatal("no look has found the thread that sleeps")
			}
		}
	}
	collect(sample.First)
	word := uint32(2)
	sleep := func(d time.Duration) {
		timeout := unix.NsecToTimespec(int64(d))
		futex(&word, wait|private, 2, &timeout)
	}
	next, asleep := make(chan struct{}), make(chan struct{})
	done := onThread(func() {
		sleep(untilFound) // by a look
		<-next
		close(asleep)
		sleep(300 * time.Millisecond) // begins while followed, and ends later
		<-next
		sleep(untilFound) // again
	})
	follow()
	wakeOne(&word)
	began := time.Now()
	next <- struct{}{}
	<-asleep
	time.Sleep(50 * time.Millisecond)
	if err := p.suspect(nil); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	if !p.following.IsZero() {
		t.Fatal("a look that found nobody did not end the following")
	}
	next <- struct{}{} // taken when the second wait is over
	pause := time.Since(stopped)
	follow()
	wakeOne(&word)
	<-done
	collect(sample.Last)
	w := r.Window(time.Now())
	followed, _ := w.Value(sample.LockFutexes, sample.Entity{})
	if followed < stopped.Sub(began).Seconds() || followed > w.Seconds()-pause.Seconds() {
		t.Errorf("followed for %g s of %g, of which %v without", followed, w.Seconds(), pause)
	}
	if s, _ := w.Sum(sample.LockWait, sample.Entity{PID: os.Getpid(), Class: "futex"}); s > 0.1 {
		t.Errorf("%g s of waiting were counted, want none: no wait was followed to its end", s)
	}
}

// A thread that sleeps for want of work waits on another value.
func TestIdleThreadsWaitForNoLock(t *testing.T) {
	w, _ := sleepOnFutexes(t, 0, 3)
	for try := 1; ; try++ { // another program may wait for a lock meanwhile
		followed, _ := w.Value(sample.LockFutexes, sample.Entity{})
		if followed == 0 {
			break
		}
		if try == 5 {
			t.Fatalf("futexes were followed for %g s", followed)
		}
		w, _ = sleepOnFutexes(t, 0, 3)
	}
	if s, ok := w.Sum(sample.LockWait, sample.Entity{PID: os.Getpid(), Class: "futex"}); ok {
		t.Errorf("idle threads waited %g s for locks", s)
	}
}

// A wait that began before anybody looked, and lasts to the end, counts from the
// look that found it.
func TestWaitThatLasts(t *testing.T) {
	const wait, private = 0, 128 // FUTEX_WAIT, FUTEX_PRIVATE_FLAG
	word := uint32(2)
	done := onThread(func() { futex(&word, wait|private, 2, &unix.Timespec{Sec: int64(untilFound / time.Second)}) })
	time.Sleep(50 * time.Millisecond)
	h := host.Live()
	h.Self = 0 // here it is this process that is looked at
	p, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.Tick, sample.Last} {
		if phase != sample.First {
			time.Sleep(300 * time.Millisecond)
		}
		r.At(time.Now())
		bpftest.Collect(t, p, phase, r)
	}
	w := r.Window(time.Now())
	wakeOne(&word)
	<-done
	e := sample.Entity{PID: os.Getpid()}
	followed, _ := w.Value(sample.LockFutexes, sample.Entity{})
	if s, _ := w.Sum(sample.LockWait, sample.Entity{PID: e.PID, Class: "futex"}); s < 0.5 || s > 1 || s > followed+0.1 {
		t.Errorf("%g s of waiting, followed for %g s of %g", s, followed, w.Seconds())
	}
	if n, _ := w.Value(sample.LockThreads, e); n != 1 {
		t.Errorf("%g threads waited, want 1", n)
	}
}
