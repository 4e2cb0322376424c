package fuse

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// TestMain lets this program be the daemon.
func TestMain(m *testing.M) {
	if len(os.Args) < 7 || os.Args[1] != "lab" || os.Args[2] != "disk" {
		os.Exit(m.Run())
	}
	size, err1 := strconv.ParseInt(os.Args[4], 10, 64)
	heads, err2 := strconv.Atoi(os.Args[6])
	if err := errors.Join(err1, err2, lab.ServeDisk(3, &lab.ServedFile{Size: size, Heads: heads}, os.Stdin, os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const fileBytes = 64 << 20

// served is a file whose every read and write takes so long, of which the daemon
// works on so many at a time.
func served(t *testing.T, heads int, delay time.Duration) (path string, set func(time.Duration) lab.Served) {
	t.Helper()
	if os.Geteuid() != 0 {
		bpftest.Need(t, "bpf", errors.New("root"))
	}
	env, err := labtest.New(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, err = env.ServeFile(os.Args[0], "slow", &lab.ServedFile{Size: fileBytes, Heads: heads}, delay)
	if err != nil {
		t.Fatal(err)
	}
	return path, func(d time.Duration) lab.Served {
		t.Helper()
		did, err := env.SlowFrom("slow", d)
		if err != nil {
			t.Fatal(err)
		}
		return did
	}
}

// read reads n blocks past the page cache, in so many threads.
func read(t *testing.T, path string, n, threads int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				t.Error(err)
				return
			}
			defer unix.Munmap(buf)
			for j := i; j < n; j += threads {
				if _, err := f.ReadAt(buf, int64(j)*4096); err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// account is what the window has of a file system and this process's reads.
type account struct {
	requests, queue, daemon, time float64
	answers                       float64 // of the one process that is not this one
	device                        string
}

func of(t *testing.T, w *sample.Window) account {
	t.Helper()
	var a account
	w.Each(sample.FuseRequests, func(e sample.Entity, s *sample.Series) {
		if e.PID == os.Getpid() && e.Class == "read" {
			a.requests, a.device = s.Sum(), e.Device
		}
	})
	mine := sample.Entity{PID: os.Getpid(), Device: a.device, Class: "read"}
	a.queue, _ = w.Sum(sample.FuseQueueTime, mine)
	a.daemon, _ = w.Sum(sample.FuseDaemonTime, mine)
	a.time, _ = w.Sum(sample.FuseTime, sample.Entity{PID: mine.PID, Device: a.device})
	w.Each(sample.FuseAnswers, func(e sample.Entity, s *sample.Series) {
		if e.Device == a.device && e.PID != os.Getpid() {
			a.answers += s.Sum()
		}
	})
	return a
}

// Of a file that virtiofsd has on a virtual machine's host (test/vm/layers virtiofs) every
// read is counted, and all of its time is the daemon's, which is no process of this machine.
// IOCAUSE_SHARE is the file.
func TestVirtiofs(t *testing.T) {
	path := os.Getenv("IOCAUSE_SHARE")
	if path == "" {
		t.Skip("IOCAUSE_SHARE names no file of a virtual machine's host")
	}
	const n = 1009 // a prime
	var reader time.Duration
	w := bpftest.Observe(t, Open, func() {
		start := time.Now()
		read(t, path, n, 1)
		reader = time.Since(start)
	})
	a := of(t, w)
	t.Logf("%g reads, %.3f ms each, %.3f ms of the queue; the reader waited %.3f ms", a.requests, 1e3*a.daemon/n, 1e3*a.queue/n, 1e3*reader.Seconds()/n)
	if a.requests != n || a.queue != 0 || a.answers != 0 || a.daemon <= 0 || a.daemon > reader.Seconds() {
		t.Errorf("%+v, want %d reads in %v at most", a, n, reader)
	}
}

// One request at a time: all of what it takes is the daemon's, and every one of
// them is counted. The daemon's own clock, from when it was given a request, and
// the reader's, which has the system call in it too, are the bounds.
func TestDaemonsTime(t *testing.T) {
	bpftest.ComparesFigures(t)
	path, set := served(t, 8, 0)
	for _, c := range []struct {
		delay time.Duration
		n     int // primes
	}{{time.Millisecond, 199}, {10 * time.Millisecond, 53}, {100 * time.Millisecond, 7}} {
		was := set(c.delay)
		var reader time.Duration
		w := bpftest.Observe(t, Open, func() {
			start := time.Now()
			read(t, path, c.n, 1)
			reader = time.Since(start)
		})
		a, did := of(t, w), set(c.delay)
		own, most := did.Took-was.Took, reader.Seconds()
		t.Logf("a delay of %v: the daemon's own account %v a request, the layer's %v, the reader's %v; %.3g s in the queue", c.delay,
			own/time.Duration(c.n), time.Duration(a.daemon/float64(c.n)*1e9), reader/time.Duration(c.n), a.queue)
		if a.requests != float64(c.n) || did.Requests-was.Requests != int64(c.n) || a.answers < float64(c.n) {
			t.Errorf("%v: %g requests, %g answers, want %d", c.delay, a.requests, a.answers, c.n)
		}
		if a.daemon < own.Seconds() || a.daemon > most {
			t.Errorf("%v: %.6g s of the daemon, want %v to %v", c.delay, a.daemon, own, reader)
		}
		if a.queue > 0.01*a.daemon {
			t.Errorf("%.3g s in the queue of a daemon that has nothing else to do", a.queue)
		}
	}
}

// The layer gets what a daemon delays, within 2 %: what its requests take longer, by the
// daemon's own clock, than those of a daemon that does not wait. The two are read by
// turns, so that whatever else a busy machine does to them is in both.
func TestDelayOfTheDaemon(t *testing.T) {
	bpftest.ComparesFigures(t)
	var paths [2]string
	var set [2]func(time.Duration) lab.Served
	var files [2]int
	for i := range paths {
		paths[i], set[i] = served(t, 8, 0)
		var err error
		if files[i], err = unix.Open(paths[i], unix.O_RDONLY|unix.O_DIRECT, 0); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(files[i])
	}
	buf := bpftest.Aligned(t, 4096)
	for _, c := range []struct {
		delay time.Duration
		n     int // primes
	}{{time.Millisecond, 211}, {10 * time.Millisecond, 41}, {100 * time.Millisecond, 7}} {
		var ratios []float64
		for range 5 { // the middle one: others may have the processor for a while
			var was, did [2]lab.Served
			w := bpftest.Observe(t, Open, func() {
				was = [2]lab.Served{set[0](c.delay), set[1](0)}
				for n := range c.n {
					for _, fd := range files {
						if _, err := unix.Pread(fd, buf, int64(n)<<12); err != nil {
							t.Fatal(err)
						}
					}
				}
				did = [2]lab.Served{set[0](c.delay), set[1](0)}
			})
			var layer, truth [2]float64
			for i, path := range paths {
				device := host.DevNumber(bpftest.ID(t, path).Dev).String()
				layer[i], _ = w.Sum(sample.FuseDaemonTime, sample.Entity{PID: os.Getpid(), Device: device, Class: "read"})
				truth[i] = (did[i].Took - was[i].Took).Seconds()
			}
			ratios = append(ratios, (layer[0]-layer[1])/(truth[0]-truth[1]))
		}
		slices.Sort(ratios)
		t.Logf("a delay of %v: the layer's account by the daemon's own clock %.4f", c.delay, ratios)
		if r := ratios[len(ratios)/2]; r < 0.98 || r > 1.02 {
			t.Errorf("%v: the layer's delay is %.4g of the daemon's own, want 1 within 2 %%", c.delay, r)
		}
	}
}

// Eight readers of a daemon that works on one, or on two, at a time: a request lies
// in the queue while those before it are served. The daemon, which has always the
// next one to take, takes as long by the layer as by its own clock, and some tens of
// microseconds in which it is called.
func TestQueue(t *testing.T) {
	bpftest.ComparesFigures(t)
	const n, readers = 401, 8 // a prime
	for _, heads := range []int{1, 2} {
		path, set := served(t, heads, time.Millisecond)
		was := set(time.Millisecond)
		w := bpftest.Observe(t, Open, func() { read(t, path, n, readers) })
		a := of(t, w)
		w.Each(sample.CostBPFRuns, func(e sample.Entity, runs *sample.Series) {
			took, _ := w.Sum(sample.CostBPFTime, e)
			t.Logf("%s: %.0f ns each time", e.Class, took/runs.Sum()*1e9)
		})
		own := (set(0).Took - was.Took).Seconds()
		t.Logf("%d at a time: the daemon's own account %.6g ms a request, the layer's %.6g ms, and %.6g ms in the queue", heads, own/n*1e3, a.daemon/n*1e3, a.queue/n*1e3)
		if a.requests != n {
			t.Errorf("%g requests, want %d", a.requests, n)
		}
		if r := a.daemon / own; r < 1 || r > 1.1 {
			t.Errorf("%d at a time: the daemon takes %.4g times as long as by its own clock", heads, r)
		}
		most := float64(readers/heads) - 1
		if r := a.queue / a.daemon; r < 0.75*most || r > 1.02*most {
			t.Errorf("%d at a time: in the queue %.3g times as long as the daemon takes, want nearly %g", heads, r, most)
		}
		if sum := a.daemon + a.queue; a.time < 0.999*sum || a.time > 1.005*sum {
			t.Errorf("under way for %g s, of which the layers are %g", a.time, sum)
		}
	}
}

// What is not answered when the window ends is a wait that goes on, and old.
func TestOpenRequests(t *testing.T) {
	path, _ := served(t, 1, time.Second)
	var a account
	var reader sync.WaitGroup
	defer reader.Wait()
	w := bpftest.Observe(t, Open, func() {
		reader.Go(func() { read(t, path, 1, 1) })
		time.Sleep(300 * time.Millisecond)
	})
	w.Each(sample.FuseTime, func(e sample.Entity, s *sample.Series) {
		if e.PID == os.Getpid() {
			a.time, a.device = s.Sum(), e.Device
		}
	})
	oldest, _ := w.Value(sample.FuseOldest, sample.Entity{Device: a.device})
	if a.time < 0.25 || a.time > 0.6 || oldest < 0.25 || oldest > 0.6 {
		t.Errorf("waited %g s, the oldest for %g s, want some 0.3", a.time, oldest)
	}
}
