package predict

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/source/probe/access"
)

const gib = 1 << 30

// curve is one that rises from 1 GiB to 3 GiB.
func curve() *Prediction {
	p := &Prediction{Of: "everybody", Seconds: 60, Place: &Place{Cgroup: "/db", Memory: gib, Used: gib, Cache: gib, Room: gib},
		Curve:   &predict.Curve{Now: 0.5, Model: 0.5, Disk: 1000, Asked: 2000},
		Reading: &Reading{Threads: 1, Blocked: 30, User: 30}}
	for _, x := range []struct{ size, hit float64 }{{0.25, 0.1}, {0.5, 0.495}, {1, 0.5}, {2, 0.8}, {3, 0.9}, {4, 0.9}} {
		saved := 1 - (1-x.hit)/0.5
		p.Curve.Points = append(p.Curve.Points, predict.Point{Memory: int64(x.size * gib), Cache: int64(x.size * gib), Hit: x.hit, Low: x.hit - 0.02, High: x.hit + 0.02,
			Disk: 2000 * (1 - x.hit), Saved: predict.Share{Value: saved, Low: saved - 0.04, High: saved + 0.04}})
	}
	return p
}

// The sentences say what the curve says.
func TestAdvice(t *testing.T) {
	p := curve()
	got := strings.Join(p.advise([]int64{2 * gib}), "\n")
	for _, want := range []string{
		"Now 50.0 % of the pages asked for are served from the cache (1 GiB of cgroup /db); 1 k pages a second (3.91 MiB/s) come from disk.",
		"1 GiB more (2 GiB in all) saves 60 % (56 to 64 %) of the disk reads; 80.0 % (78.0 to 82.0 %) of the pages are then hits; reading is then 1.2x to 1.6x as fast.",
		"2 GiB more (3 GiB in all) saves 80 % (76 to 84 %)",
		"2 GiB more is enough; larger sizes gain nothing.",
		"512 MiB could be taken away (512 MiB left) before more than 1 % of the reads that are hits now would come from disk.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said:\n%s", want, got)
		}
	}
	p.Curve.Points[4].Open, p.Curve.Points[5].Open = true, true
	if got := strings.Join(p.advise(nil), "\n"); strings.Contains(got, "Beyond") || !strings.Contains(got, "too short") {
		t.Errorf("of what is open:\n%s", got)
	}
	p.Place.Cache = gib / 2
	if got := strings.Join(p.advise(nil), "\n"); !strings.Contains(got, "has memory left") || strings.Contains(got, "Beyond") {
		t.Errorf("of memory that is not full:\n%s", got)
	}
	p = curve()
	p.Curve.Disk = 0.1
	if got := strings.Join(p.advise(nil), "\n"); !strings.Contains(got, "Almost nothing comes from disk") {
		t.Errorf("without reads from disk:\n%s", got)
	}
	for _, err := range []error{predict.ErrNothing, predict.ErrFew, predict.ErrMapped} {
		if got := p.cannot(fmt.Errorf("%w: so", err)); !strings.Contains(got, err.Error()) || !strings.HasPrefix(got, "Cannot tell") {
			t.Error(got)
		}
	}
}

// Less waiting is worth the part of the time that is waiting.
func TestFaster(t *testing.T) {
	p := curve()
	s, ok := p.Faster(&p.Curve.Points[3])
	// 30 s of 60 are waiting, of which 56 to 64 % go: 1/(1-0.28) to 1/(1-0.32); at other
	// times 12 % less or more
	if !ok || fmt.Sprintf("%.3f %.3f", s.Low/0.88, s.High/1.12) != "1.389 1.471" {
		t.Errorf("%+v, %v", s, ok)
	}
	// 10 of the 30 s of its own are the kernel's, of which handing over 120,000 pages
	// takes 2: the other 8 fall with what comes from disk.
	p.Reading = &Reading{Threads: 1, Blocked: 30, User: 20, System: 10, Calls: 120_000, PerCall: 1.0 / 60_000}
	if s, _ := p.Faster(&p.Curve.Points[3]); fmt.Sprintf("%.4f %.4f", s.Value, s.Low/0.88) != fmt.Sprintf("%.4f %.4f", 60/(60-38*0.6), 60/(60-38*0.56)) {
		t.Errorf("with time of the kernel: %+v", s)
	}
	// Another thread had nothing to do, or waited for work that it will wait for again.
	p.Reading.Threads = 2
	if s, _ := p.Faster(&p.Curve.Points[3]); fmt.Sprintf("%.4f %.4f", s.Value, s.Low/0.88) != fmt.Sprintf("%.4f %.4f", math.Sqrt(60/(60-38*0.6)*120/(120-38*0.6)), 120/(120-38*0.56)) {
		t.Errorf("beside an idle thread: %+v", s)
	}
	// Who waits for a processor waits less where those before it take less of it, and not
	// at all without them where there are as many as threads.
	p.Reading = &Reading{Threads: 1, Blocked: 30, Queued: 10, System: 20}
	if s, _ := p.Faster(&p.Curve.Points[3]); fmt.Sprintf("%.4f", s.Value) != fmt.Sprintf("%.4f", 60/(50*0.4+10*0.4*0.4)) {
		t.Errorf("with a queue for processors: %+v", s)
	}
	p.Reading = nil
	if _, ok := p.Faster(&p.Curve.Points[3]); ok {
		t.Error("faster, though nothing is known of who reads")
	}
}

// A cgroup's room is its limit without what is no cache.
func TestPlaceOfCgroup(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"memory.limit_in_bytes": "104857600\n", "memory.usage_in_bytes": "104000000\n",
		"memory.stat": "cache 1\nactive_file 1\ntotal_active_file 30000000\ntotal_inactive_file 50000000\n"} {
		write(t, dir, name, text)
	}
	p, err := readPlace(dir, "/x", false)
	if err != nil || *p != (Place{Cgroup: "/x", Memory: 104857600, Used: 104000000, Cache: 80000000, Room: 80857600, Active: 30000000}) {
		t.Errorf("%+v, %v", p, err)
	}
	dir = t.TempDir()
	write(t, dir, "memory.max", "max\n")
	write(t, dir, "memory.high", "max\n")
	if p, err := readPlace(dir, "/x", true); p != nil || err != nil {
		t.Errorf("without a limit: %+v, %v", p, err)
	}
	write(t, dir, "memory.high", "1000\n")
	if _, err := readPlace(dir, "/x", true); err == nil {
		t.Error("no memory.current, and no error")
	}
}

// By which rules the kernel keeps its cache is told by its setting and its types.
func TestLists(t *testing.T) {
	for _, c := range []struct {
		enabled string
		tiers   bool
		want    predict.Lists
	}{
		{"0x0007\n", false, predict.MGLRU}, {"0x0001\n", true, predict.MGLRUSince614},
		{"0x0006\n", true, predict.TwoLists}, {"0x0000\n", true, predict.TwoLists}, {"", true, predict.TwoLists},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, "sys/kernel/mm/lru_gen")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if c.enabled != "" {
			write(t, dir, "enabled", c.enabled)
		}
		got, err := listsOf(host.Tree(root, time.Now), func() (bool, error) { return c.tiers, nil })
		if err != nil || got != c.want {
			t.Errorf("%q, tiers %t: %d, %v, want %d", c.enabled, c.tiers, got, err, c.want)
		}
	}
	refused := errors.New("no types")
	root := t.TempDir()
	dir := filepath.Join(root, "sys/kernel/mm/lru_gen")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "enabled", "0x0007\n")
	if _, err := listsOf(host.Tree(root, time.Now), func() (bool, error) { return false, refused }); !errors.Is(err, refused) {
		t.Errorf("without types: %v", err)
	}
}

// Sizes that are asked for are of what there is where they have a sign.
func TestAsk(t *testing.T) {
	for a, want := range map[Ask]int64{{Bytes: 5}: 5, {Bytes: 5, Beside: true}: 105, {Share: -0.25, Beside: true}: 75, {Bytes: -200, Beside: true}: -100} {
		if got := a.size(100); got != want {
			t.Errorf("%+v: %d, want %d", a, got, want)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWords(t *testing.T) {
	f := Filter{Comm: "db", Cgroup: "/x"}
	if f.words() != "processes called db, cgroup /x" || (&Filter{}).words() != "everybody" {
		t.Error(f.words())
	}
	if !below("/a/b", "/a") || below("/ab", "/a") || !below("/ab", "") || !below("/ab", "/") {
		t.Error("below")
	}
}

// Pages that read-ahead brings in vain are not modelled, and that is said.
func TestCaveatOfReadAhead(t *testing.T) {
	for disk, want := range map[float64]bool{50: false, 58: false, 70: true} {
		p := Prediction{Curve: &predict.Curve{Asked: 100, Now: 0.5, Model: 0.5, Used: 50, Disk: disk}}
		said := strings.Contains(strings.Join(p.caveats(&predict.Trace{}), " "), "Read-ahead brings")
		if said != want {
			t.Errorf("%.0f pages from disk for 50 that are used: said %v, want %v", disk, said, want)
		}
	}
}

// One thread makes 1,000 calls in 2 s, of which 500 wait 1 ms; what its hits take is known.
// If all wait it takes 1 s of waiting and twice the kernel's time for misses.
func TestPastTheCache(t *testing.T) {
	p := &Prediction{Seconds: 2, Curve: &predict.Curve{Asked: 500, Disk: 250},
		Reading: &Reading{Threads: 1, Blocked: 0.5, User: 1, System: 0.5, Calls: 1000, Asking: 1000, Pages: 1000, Waiting: 500, PerCall: 100e-6}}
	s, ok := p.direct() // hits take 0.1 s of the 0.5, misses 0.4, which are then 0.8 or less
	low, high := 2/(1+1+0.8), 2/(1+1+0.8*lighter)
	if !ok || math.Abs(s.Low-low) > 1e-9 || math.Abs(s.High-high) > 1e-9 || s.Value < low || s.Value > high {
		t.Errorf("%+v, want %v to %v", s, low, high)
	}
	p.Curve.Disk = 2500 // ten pages come for each that is waited for: one alone may take a tenth
	if s, _ := p.direct(); math.Abs(s.Low-low) > 1e-9 || math.Abs(s.High-2/(0.1+1+0.8*lighter)) > 1e-9 {
		t.Errorf("%+v", s)
	}
	p.Reading.Waiting = 0
	if s, ok := p.direct(); ok {
		t.Errorf("nothing waits: %+v", s)
	}
}

// Several processes: what their work takes without misses is what the fastest calls take, as
// far as there are hits and they are always busy; else, and where it is one process, what it
// takes now, but for the kernel's part of misses.
func TestWorkOfHits(t *testing.T) {
	r := &Reading{Processes: 3, User: 4, System: 6, Worked: 5, Calls: 1e6, Asking: 1e6, Pages: 1e6, PerCall: 1e-6, PerPage: 1e-6,
		cycles: []predict.Waited{{From: 1.5e-6, To: 2e-6, Calls: 100}, {From: 3e-6, To: 4e-6, Calls: 200}, {From: 10e-6, To: 12e-6, Calls: 30}}}
	row := fastest(r.cycles)
	if row < 1.7e-6 || row > 1.9e-6 { // 110 of 330 calls: all of the first row, and ten of the second
		t.Errorf("the fastest take %g s", row)
	}
	for _, c := range []struct{ busy, hits, want float64 }{{1, 0.9, row * 1e6}, {1, 0, 6}, {0, 0.9, 6}, {1, 0.25, (row*1e6 + 6) / 2}, {0.5, 0.9, (row*1e6 + 6) / 2}} {
		if got, ends := r.hitWork(c.busy, c.hits, 0); math.Abs(got-c.want) > 1e-9 || slices.Min(ends) > got || slices.Max(ends) < got {
			t.Errorf("%+v: %g s, between %g", c, got, ends)
		}
	}
	r.Processes = 1
	if got, ends := r.hitWork(1, 0.9, 0); got != 6 || slices.Min(ends) > row*1e6+1e-9 {
		t.Errorf("%g s, between %g", got, ends)
	}
	r.cycles = r.cycles[2:] // too few
	if got, ends := r.hitWork(1, 0.9, 0); got != 6 || len(ends) != 0 {
		t.Errorf("%g s, between %g", got, ends)
	}
	// the kernel works for 3 s more than misses, and 1 s of that is switches for them
	r.Worked, r.Waiting = 2, 0.5e6
	if got, _ := r.hitWork(1, 0.9, 4*0.5e6); got != 4+3 {
		t.Errorf("%g s", got)
	}
	if got, _ := r.hitWork(1, 0.9, 5*0.5e6); got != 4+2 { // what is read ahead is not told apart
		t.Errorf("%g s", got)
	}
}

// Without misses nobody waits for I/O, and threads wait for a processor as far as there are
// more of them than processors.
func TestFasterWithoutMisses(t *testing.T) {
	threads := 2 * runtime.NumCPU()
	p := &Prediction{Seconds: 10, Place: &Place{}, Curve: &predict.Curve{Disk: 100, Now: 0.5},
		Reading: &Reading{Threads: threads, Blocked: 9 * float64(threads), System: float64(threads), Calls: 1e5, Asking: 1e5, Pages: 1e5, PerPage: 2e-6}}
	s, ok := p.Faster(&predict.Point{Saved: predict.Share{Value: 1, Low: 1, High: 1}})
	if want := 10 * float64(threads) / (2 * 0.2); !ok || math.Abs(s.Value-want) > 1e-6*want { // each call's work twice: one runs, one waits
		t.Errorf("%+v, want %g", s, want)
	}
	p.Reading.Threads, p.Reading.Blocked, p.Reading.System, p.Reading.Queued = 1, 8, 1, 1
	s, ok = p.Faster(&predict.Point{Saved: predict.Share{Value: 1, Low: 1, High: 1}})
	if want := 10 / 0.2; !ok || math.Abs(s.Value-want) > 1e-6*want {
		t.Errorf("one thread: %+v, want %g", s, want)
	}
}

// Of processes that have ended only the waiting is known: no speed is told where that is
// much of it, be it that another process has the number now.
func TestProcessesThatEnded(t *testing.T) {
	root := t.TempDir()
	stat := func(pid, threads, user, start int) {
		dir := filepath.Join(root, "proc", fmt.Sprint(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "stat", fmt.Sprintf("%d (x) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 %d 0 %d 0 0\n", pid, user, threads, start))
	}
	stat(1, 4, 1000, 50)
	stat(2, 1, 700, 60)
	o := &Observer{host: host.Tree(root, time.Now), before: map[int]work{1: {start: "50", threads: 4}, 2: {start: "60"}, 3: {start: "70"}}}
	all := map[int]access.Process{1: {Blocked: 20 * time.Second, Threads: 100}, 2: {Blocked: 10 * time.Second, Threads: 1}, 3: {Blocked: time.Second, Threads: 1}}
	is := map[int]bool{1: true, 2: true, 3: true}
	p := curve()
	p.Reading = o.worked(is, all)
	if r := p.Reading; r.Threads != 5 || r.User != 17 || r.Blocked != 31 {
		t.Errorf("%+v", r)
	}
	if _, ok := p.Faster(&p.Curve.Points[3]); !ok {
		t.Error("no speed, though a thirtieth of the waiting alone is of one that ended")
	}
	stat(2, 1, 700, 80) // another one
	p.Reading = o.worked(is, all)
	if r := p.Reading; r.Threads != 4 || r.User != 10 || r.Blocked != 31 {
		t.Errorf("%+v", r)
	}
	if s, ok := p.Faster(&p.Curve.Points[3]); ok {
		t.Errorf("%+v, though a third of the waiting is of processes that ended", s)
	}
}
