package access

import (
	"math"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// pageBytes is how large the pages are that are watched: the kernel's.
var pageBytes = os.Getpagesize()

// fileOf makes a file of n pages, not cached.
func fileOf(t *testing.T, n int) string {
	t.Helper()
	return bpftest.File(t, n*PerPage())
}

// watch counts what f makes happen to the watched pages of a file, by kind, and
// how many pages this process asked for.
func watch(t *testing.T, shift int, file sample.FileID, f func()) (count map[Kind]int, pages map[uint64]int, asked uint64) {
	t.Helper()
	runtime.LockOSThread() // where a read goes on is known of each thread
	defer runtime.UnlockOSThread()
	p, err := Open(host.Live(), shift)
	bpftest.Need(t, "bpf", err)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	f()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	count, pages = map[Kind]int{}, map[uint64]int{}
	err = p.Each(func(e Event) {
		if e.File == file {
			count[e.Kind]++
			if e.Kind == Read {
				pages[e.Page]++
			}
			if e.PID != os.Getpid() && e.Kind == Read || e.At <= 0 {
				t.Errorf("%+v", e)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Processes()
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Losses()
	if err != nil || l != (Losses{}) {
		t.Errorf("lost %+v, %v", l, err)
	}
	return count, pages, all[os.Getpid()].Asked
}

// readAll reads a file in requests of a size, as often as is said, and never asks for
// what is behind its end: for that, Linux 5.10 puts in a page.
func readAll(t *testing.T, path string, size, times int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, size)
	for range times {
		for at := int64(0); at < st.Size(); {
			n, err := f.ReadAt(buf[:min(int64(size), st.Size()-at)], at)
			if err != nil {
				t.Fatal(err)
			}
			at += int64(n)
		}
	}
}

// Every page is watched: each is put in once and asked for once in a pass,
// whatever the size of the requests, and dropped once.
func TestEveryPage(t *testing.T) {
	bpftest.Root(t)
	const pages, passes = 1009, 3
	for _, size := range []int{1000, pageBytes, 5 * pageBytes, 1 << 20} {
		path := fileOf(t, pages)
		count, _, asked := watch(t, 0, bpftest.ID(t, path), func() {
			readAll(t, path, size, passes)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		})
		if count[Added] != pages || count[Read] != passes*pages || count[Dropped] != pages || count[Evicted] != 0 {
			t.Errorf("requests of %d: %d added, %d read, %d dropped, %d evicted; want %d, %d, %d, 0", size, count[Added], count[Read], count[Dropped], count[Evicted], pages, passes*pages, pages)
		}
		if all := uint64(passes * pages * PerPage()); asked > all+uint64(200*PerPage()) || asked < all-uint64(63*PerPage()) {
			t.Errorf("requests of %d: %d pages asked for, want %d but for 63", size, asked, all)
		}
	}
}

// Calls of one length, each a page behind the end of the one before: what lies between
// was not asked for, be the pages of a call there or not.
func TestGapsBetweenCalls(t *testing.T) {
	bpftest.Root(t)
	const calls = 211
	for _, each := range []int{1, 3} {
		path := fileOf(t, calls*(each+1))
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, each*pageBytes)
		for _, what := range []string{"from disk", "from the cache"} {
			count, pages, _ := watch(t, 0, bpftest.ID(t, path), func() {
				for i := range calls {
					if _, err := f.ReadAt(buf, int64(i*(each+1)*pageBytes)); err != nil {
						t.Fatal(err)
					}
				}
			})
			if count[Read] != calls*each || len(pages) != calls*each {
				t.Errorf("%d pages at a time %s: %d reads of %d pages, want %d of each", each, what, count[Read], len(pages), calls*each)
			}
		}
	}
}

// Each page that a mapping faults in is told once.
func TestFaults(t *testing.T) {
	bpftest.Root(t)
	const pages, touched = 1009, 211
	path := fileOf(t, pages)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, pages*pageBytes, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	if err := unix.Madvise(m, unix.MADV_RANDOM); err != nil { // without read-around
		t.Fatal(err)
	}
	var sum byte
	count, _, _ := watch(t, 0, bpftest.ID(t, path), func() {
		for i := range touched {
			sum += m[i*7%pages*pageBytes]
		}
	})
	// A fault that has waited for its page is begun anew, and told again.
	if n := count[Faulted]; n < touched || n > 2*touched || count[Added] != touched || sum != 0 {
		t.Errorf("%d faults, %d pages added, want %d of each and at most twice as many faults", n, count[Added], touched)
	}
}

// One page of each whole run is watched, always the same, and asked for as often
// as every other.
func TestOneOfEachRun(t *testing.T) {
	bpftest.Root(t)
	const runs, shift, passes = 101, 5, 2
	path := fileOf(t, runs<<shift)
	count, pages, _ := watch(t, shift, bpftest.ID(t, path), func() { readAll(t, path, pageBytes, passes) })
	if count[Added] != runs || count[Read] != passes*runs || len(pages) != runs {
		t.Errorf("%d added, %d reads of %d pages; want %d, %d of %d", count[Added], count[Read], len(pages), runs, passes*runs, runs)
	}
	places := map[uint64]int{}
	for page, n := range pages {
		if page%uint64(PerPage()) != 0 {
			t.Errorf("page %d is none of the kernel's", page)
		}
		if places[page/uint64(PerPage())%(1<<shift)]++; n != passes {
			t.Errorf("page %d: read %d times, want %d", page, n, passes)
		}
	}
	if len(places) < 20 { // of 32; fewer than 20 has a chance below 1e-6
		t.Errorf("the watched pages lie at %d places of their runs only", len(places))
	}
}

// Thinning leaves about a half of the watched pages.
func TestThin(t *testing.T) {
	bpftest.Root(t)
	const n = 4096
	path := fileOf(t, n)
	id := bpftest.ID(t, path)
	p, err := Open(host.Live(), 0)
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	if err := p.Thin(1); err != nil {
		t.Fatal(err)
	}
	readAll(t, path, pageBytes, 1)
	reads := 0
	if err := p.Each(func(e Event) {
		if e.File == id && e.Kind == Read {
			reads++
			if e.Hash&1 != 0 {
				t.Errorf("page %d is watched: its hash is %x", e.Page, e.Hash)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(reads)-n/2) > 6*math.Sqrt(n)/2 {
		t.Errorf("%d of %d pages are left, want a half", reads, n)
	}
}

// Threads that end are counted, however little they asked for.
func TestThreadsThatEnd(t *testing.T) {
	bpftest.Root(t)
	const threads, pages = 200, 10
	path := fileOf(t, 2*pages)
	readAll(t, path, pageBytes, 1)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _, asked := watch(t, 3, bpftest.ID(t, path), func() {
		for range threads {
			ended := make(chan bool)
			go func() {
				defer close(ended)
				runtime.LockOSThread() // and is not unlocked: the thread ends
				buf := make([]byte, pageBytes)
				for i := range pages {
					if _, err := f.ReadAt(buf, int64(2*i*pageBytes)); err != nil {
						t.Error(err)
					}
				}
			}()
			<-ended
		}
		time.Sleep(100 * time.Millisecond) // until the last ones have ended
	})
	// the process's first thread may be one of them, and does not end; where programs are
	// preempted (Linux 7.0) the kernel passes over the end of a few
	if least := uint64((threads - 5) * pages * PerPage()); asked < least || asked > least+uint64(100*PerPage()) {
		t.Errorf("%d pages asked for, want %d", asked, least)
	}
}

// What a thread waits for its pages is counted.
func TestBlocked(t *testing.T) {
	bpftest.Root(t)
	path := fileOf(t, 4096)
	p, err := Open(host.Live(), 3)
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	readAll(t, path, pageBytes, 1) // a thread is known from its first read on
	bpftest.Drop(t, path)
	began := time.Now()
	readAll(t, path, pageBytes, 1)
	took := time.Since(began)
	all, err := p.Processes()
	if err != nil {
		t.Fatal(err)
	}
	if is := all[os.Getpid()]; is.Blocked <= 0 || is.Blocked > 2*took+time.Second || is.Threads < 1 {
		t.Errorf("%+v within %v", is, took)
	}
}

// Calls that wait for the disk are counted one by one, with how long they waited; those
// of cached pages are not, nor is what a thread waits for in other calls.
func TestWaits(t *testing.T) {
	bpftest.Root(t)
	const pages = 2000
	path := fileOf(t, pages)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := Open(host.Live(), 3)
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	bpftest.Drop(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, pageBytes)
	read := func() (took time.Duration) {
		began := time.Now()
		for page := range pages {
			if _, err := f.ReadAt(buf, int64(page*pageBytes)); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	count := func() (calls uint64, least, most time.Duration) {
		all, err := p.Waits()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			if w.PID == os.Getpid() && !w.Hit && !w.Cycle {
				calls += w.Calls
				least, most = least+w.From*time.Duration(w.Calls), most+w.To*time.Duration(w.Calls)
			}
		}
		return calls, least, most
	}
	slept := func() uint64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return uint64(u.Nvcsw)
	}
	before := slept()
	took := read()            // each from disk
	want := uint64(pages - 1) // of the last it is not known yet
	if slices.Contains(p.Missing(), "page_cache_sync_ra") {
		want = min(want, slept()-before) // those whose page came before they slept are not known
	}
	calls, least, most := count()
	if calls < want*98/100 || calls > pages-1 {
		t.Errorf("%d calls waited, want %d", calls, want)
	}
	all, err := p.Processes()
	if err != nil {
		t.Fatal(err)
	}
	is := all[os.Getpid()]
	if is.Blocked > most+took/50 || least > took { // a wait is part of the time in which a page is missed
		t.Errorf("pages were missed for %v to %v in all, within %v of which %v were waited", least, most, took, is.Blocked)
	}
	for range 20 { // waits of another call are nothing that a read waited for
		if _, err := f.WriteAt(buf, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	read() // each from the cache
	again, _, _ := count()
	if again < calls || again > calls+1 {
		t.Errorf("%d calls waited after a pass through the cache and 20 syncs, want %d", again, calls+1)
	}
	if all, err = p.Processes(); err != nil {
		t.Fatal(err)
	}
	if n := all[os.Getpid()].Calls; n < 2*pages-63 || n > 2*pages+100 {
		t.Errorf("%d calls, want %d", n, 2*pages)
	}
}

// Of calls that miss nothing each 61st is timed to the thread's next one.
func TestCycles(t *testing.T) {
	bpftest.Root(t)
	const pages, passes = 640, 100
	path := fileOf(t, pages)
	readAll(t, path, pageBytes, 1)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := Open(host.Live(), 3)
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	began := time.Now()
	readAll(t, path, pageBytes, passes)
	mean := time.Since(began) / (pages * passes)
	all, err := p.Waits()
	if err != nil {
		t.Fatal(err)
	}
	var n, short uint64
	for _, w := range all {
		if w.PID == os.Getpid() && w.Cycle {
			if n += w.Calls; w.To <= 2*mean {
				short += w.Calls
			}
		}
	}
	for _, way := range p.probe.Ways() {
		if way.What == "reads" && way.By != bpf.ByTracepoint {
			if n != 0 {
				t.Errorf("%d calls in a row are timed by %s, want none", n, way.By)
			}
			return
		}
	}
	// but for those that lose the processor before the next one
	if least := uint64(pages * passes / 61); n < least*9/10 || n > least*21/20 || short < n/2 {
		t.Errorf("%d calls are timed, %d of them at most twice the mean of %v; want %d and a few", n, short, mean, least)
	}
}
