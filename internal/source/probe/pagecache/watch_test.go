package pagecache

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// watching opens a Watch whose looks, for the test's sake, are often and long.
func watching(t *testing.T, p Pace) *Watch {
	t.Helper()
	w, err := OpenWatch(host.Live(), p)
	bpftest.Need(t, "bpf", err)
	t.Cleanup(func() { w.Close() })
	return w
}

// atEnd waits for a look to be over, and emits it.
func atEnd(t *testing.T, w *Watch, r *sample.Recorder, phase sample.Phase) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		w.mu.Lock()
		found, looking := w.found != nil, w.looking
		w.mu.Unlock()
		if found {
			break
		}
		if !looking { // it was too short to tell anything
			bpftest.Collect(t, w, sample.IntervalEnd, r)
		}
		if time.Since(began) > 30*time.Second {
			t.Fatal("no look ended in half a minute")
		}
	}
	bpftest.Collect(t, w, phase, r)
}

// readCalls is the kernel's count of a process's read calls.
func readCalls(t *testing.T, pid int) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "syscr: ")
	var n float64
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return n
}

// steady reads a whole file a thousand times a second, and makes up for what it
// was kept from, until it is ended.
func steady(path string, pages int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data := make([]byte, pages*pageBytes)
	began, calls := time.Now(), 0
	for {
		for due := int(time.Since(began) / time.Millisecond); calls < due; calls++ {
			if _, err := f.ReadAt(data, 0); err != nil {
				return err
			}
		}
		time.Sleep(time.Millisecond / 4)
	}
}

// A process that reads so many cached pages a second is looked at for half of
// the time. What that is scaled to is within a quarter of the kernel's own count
// of its calls; others read, too, and it may be kept waiting.
func TestWatchScalesToAllReads(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, looks, tolerance, tries = 256, 6, 0.25, 5
	w := watching(t, Pace{Length: 200 * time.Millisecond, Every: func() time.Duration { return 400 * time.Millisecond }})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("PAGECACHE_JOB=steady %s %d", fileOf(t, pages), pages))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if err := unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, -20); err != nil {
		t.Log(err)
	}
	for began := time.Now(); readCalls(t, cmd.Process.Pid) < 1000; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the reader does not read")
		}
	}
	for try := 1; ; try++ {
		r := sample.NewRecorder(time.Now())
		bpftest.Collect(t, w, sample.First, r)
		calls := readCalls(t, cmd.Process.Pid)
		for range looks - 1 {
			atEnd(t, w, r, sample.IntervalEnd)
		}
		atEnd(t, w, r, sample.Last)
		truth := pages * (readCalls(t, cmd.Process.Pid) - calls)
		window := r.Window(time.Now())
		get := func(m sample.Metric) float64 {
			v, ok := window.Sum(m, sample.Entity{})
			if !ok {
				t.Errorf("no %s", m)
			}
			return v
		}
		accesses, hits := get(sample.CacheSampledAccesses), get(sample.CacheSampledHits)
		t.Logf("try %d: %.3f of %.0f reads, in %.2f s of looks", try, accesses/truth, truth, get(sample.CacheSampledTime))
		if math.Abs(accesses/truth-1) > tolerance && try < tries {
			continue
		}
		if math.Abs(accesses/truth-1) > tolerance {
			t.Errorf("%.0f accesses, %.0f reads", accesses, truth)
		}
		if hits < 0.9*accesses || get(sample.CacheSampledBytes) != float64(os.Getpagesize())*accesses {
			t.Errorf("%.0f of %.0f accesses are hits, with %.0f bytes", hits, accesses, get(sample.CacheSampledBytes))
		}
		spent := 0.0
		window.Each(sample.CostBPFTime, func(_ sample.Entity, s *sample.Series) { spent += s.Sum() })
		if spent <= 0 || spent > 2 {
			t.Errorf("the programs took %g s", spent)
		}
		window.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
			if !strings.HasSuffix(e.Class, " recursion") { // some hosts interrupt a program with its own event
				t.Errorf("lost %s: %g", e.Class, s.Sum())
			}
		})
		break
	}
}

// Pages that come from disk while it looks are misses; the same pages again are
// none. Between two looks nothing is attached, and nothing is kept.
func TestWatchTellsMisses(t *testing.T) {
	const pages = 512
	path := fileOf(t, pages)
	w := watching(t, Pace{Length: time.Minute, Every: func() time.Duration { return 2 * time.Minute }})
	count := func(during func()) *look {
		quit, took := make(chan struct{}), make(chan *look, 1)
		go func() {
			l, err := w.look(quit)
			if err != nil {
				t.Error(err)
			}
			took <- l
		}()
		for began, on := time.Now(), uint32(0); on == 0; time.Sleep(time.Millisecond) {
			if err := w.p.probe.Variable("enabled", &on); err != nil || time.Since(began) > 30*time.Second {
				t.Fatal("the look does not begin", err)
			}
		}
		during()
		close(quit)
		return <-took
	}
	read := func() {
		if b, err := os.ReadFile(path); err != nil || len(b) != pages*pageBytes {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name        string
		misses      uint64 // at least; others read, too, and some hosts hide an event now and then
		before      func()
		mostOfCache bool
	}{
		{"from disk", pages - pages/50, func() { bpftest.Drop(t, path) }, false},
		{"again", 0, func() {}, true},
		{"from disk again", pages - pages/50, func() { bpftest.Drop(t, path) }, false},
	} {
		c.before()
		l := count(read)
		if l == nil {
			t.Fatal("no figures")
		}
		accesses, misses := l.after.Accesses-l.before.Accesses, l.after.Misses-l.before.Misses
		if accesses < pages-pages/50 || misses < c.misses {
			t.Errorf("%s: %d accesses, %d from disk; want %d and %d at least", c.name, accesses, misses, pages, c.misses)
		}
		if c.mostOfCache && misses > accesses-pages/2 {
			t.Errorf("%s: %d of %d accesses are from disk", c.name, misses, accesses)
		}
		left := 0
		for _, m := range []string{"accounts", "chunks", "paths", "processes"} {
			var key, value []byte
			for it := w.p.probe.Map(m).Iterate(); it.Next(&key, &value); {
				left++
			}
		}
		var on uint32
		if err := w.p.probe.Variable("enabled", &on); err != nil || on != 0 || left != 0 {
			t.Errorf("%s: enabled is %d, %d entries are left, %v", c.name, on, left, err)
		}
	}
}

// A look that held programs for longer than it may puts off the next one, so
// that they are attached for no more than the share of the time that was set.
func TestWatchPaysForLongLooks(t *testing.T) {
	const length, every = 20 * time.Millisecond, 2 * time.Second
	w := watching(t, Pace{Length: length, Every: func() time.Duration { return every }})
	began := time.Now()
	if _, err := w.look(make(chan struct{})); err != nil {
		t.Fatal(err)
	}
	held := w.held
	if held < length/2 || held > time.Since(began) {
		t.Errorf("held for %v", held)
	}
	if next := w.earliest.Sub(began); next < held*(every/length) {
		t.Errorf("held for %v, and the next look may begin %v after this one", held, next)
	}
}

// Without a look nothing is emitted: that is not zero.
func TestWatchWithoutALookSaysNothing(t *testing.T) {
	w := watching(t, Pace{Length: time.Second, Every: func() time.Duration { return time.Hour }})
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.IntervalEnd, sample.Last} {
		bpftest.Collect(t, w, phase, r)
	}
	window := r.Window(time.Now())
	for _, m := range WatchMetrics() {
		if window.Has(m) {
			t.Errorf("there is %s", m)
		}
	}
}

// A look ends by itself when nobody ends it, as when the agent is stopped, and
// is as long as it was counted for.
func TestLookEndsByItself(t *testing.T) {
	const pages = 64
	path := fileOf(t, pages)
	w := watching(t, Pace{Length: 50 * time.Millisecond, Every: func() time.Duration { return time.Second }})
	quit, took := make(chan struct{}), make(chan *look, 1)
	w.pace.Length = time.Hour // whoever should end it is away
	began := time.Now()
	go func() {
		l, err := w.look(quit)
		if err != nil {
			t.Error(err)
		}
		took <- l
	}()
	enabled := func() (on uint32) {
		if err := w.p.probe.Variable("enabled", &on); err != nil {
			t.Fatal(err)
		}
		return on
	}
	wait := func(what string, ok func() bool) {
		t.Helper()
		for began := time.Now(); !ok(); time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
	read := func() {
		if b, err := os.ReadFile(path); err != nil || len(b) != pages*pageBytes {
			t.Fatal(err)
		}
	}
	wait("the look to begin", func() bool { return enabled() == 1 })
	wait("the look to end", func() bool { read(); return enabled() == 0 })
	if ran := time.Since(began); ran < 500*time.Millisecond { // a second, of jiffies
		t.Errorf("it ended after %v", ran)
	}
	over := time.Since(began)
	for range 100 {
		read() // which nobody counts
	}
	close(quit)
	l := <-took
	if l == nil {
		t.Fatal("no figures")
	}
	if l.length > over || l.length < 500*time.Millisecond || l.after.Accesses-l.before.Accesses < pages {
		t.Errorf("a look of %v with %d accesses; it was over after %v", l.length, l.after.Accesses-l.before.Accesses, over)
	}
	before := l.after.Accesses
	w.pace.Length = 50 * time.Millisecond
	if l, err := w.look(make(chan struct{})); err != nil || l.before.Accesses != before || l.length > time.Minute {
		t.Errorf("the next one: %+v, %v", l, err)
	}
}
