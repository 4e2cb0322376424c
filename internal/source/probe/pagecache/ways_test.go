package pagecache

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/load"
	"iocause/internal/sample"
)

// What lies behind the end of a file is not visited, whichever way counts.
func TestReadsBeyondTheEnd(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, count = 1009, 211
	path := fileOf(t, pages)
	f := observe(t, path, fmt.Sprintf("beyond %s 0 %d", path, count))
	if v, n := f.get(sample.CacheAccesses), f.get(sample.CacheCalls); v != 2*count || n != 2*count {
		t.Errorf("accesses %.0f, calls %.0f, want %d each", v, n, 2*count)
	}
}

// A read that may not wait takes what is there. At the tracepoint it looks as if
// it took all that it asks for; at the function it does not.
func TestReadsThatMayNotWait(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, count, asked = 1009, 7, 64
	path := fileOf(t, pages)
	f := observe(t, path, fmt.Sprintf("part %s %d %d", path, asked*pageBytes, count))
	b, err := os.ReadFile(path + ".read")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n < count*pageBytes || n > asked*pageBytes {
		t.Fatalf("it read %q bytes of %d, and %d were there: %v", b, asked*pageBytes, count*pageBytes, err)
	}
	got := float64(n) / float64(pageBytes)
	want := count + got
	if f.ways[0].By == bpf.ByTracepoint {
		want = count + asked
	}
	if v, c := f.get(sample.CacheAccesses), f.get(sample.CacheMisses); v != want || c != got {
		t.Errorf("accesses %.0f, misses %.0f, want %.0f and %.0f", v, c, want, got)
	}
}

// What the programs do without on older kernels they can do without here, too.
func TestAccountWithoutWhatOlderKernelsLack(t *testing.T) {
	bpftest.ComparesFigures(t)
	t.Setenv(bpf.HooksVariable, "without-fetch,without-storage,without-task,without-regs,without-loop")
	const pages = 20011 // prime
	path := fileOf(t, pages)
	for _, spec := range []load.Spec{
		{Kind: "read", BlockSize: 64 << 20},
		{Kind: "randread", Count: 10007, Threads: 4},
	} {
		spec.Path = path
		var wrong []string
		for range tries {
			if wrong = against(t, spec, pages); len(wrong) == 0 {
				break
			}
		}
		if len(wrong) > 0 {
			t.Errorf("%s: wrong %d times:\n%s", spec.Kind, tries, strings.Join(wrong, "\n"))
		}
	}
}

// elsewhere is a capability's way, at other functions than it should be.
func elsewhere(c bpf.Capability, functions map[string]string) bpf.Way {
	for _, w := range c.Ways {
		if w.By != bpf.ByFunction {
			continue
		}
		w.Programs = slices.Clone(w.Programs)
		for i := range w.Programs {
			p := &w.Programs[i]
			if other := functions[p.Entry]; other != "" {
				p.Entry = other
			}
		}
		return w
	}
	return bpf.Way{}
}

// A way that attaches and counts wrong is not taken, nor one that does not attach:
// the next one is, and nothing of the first is left.
func TestTheNextWayIsTaken(t *testing.T) {
	bpftest.Root(t)
	spec, err := loadPagecache()
	if err != nil {
		t.Fatal(err)
	}
	ways := reading()
	for i := range ways {
		if ways[i].Name == mapped {
			// it has the argument of filemap_fault, and without swap nobody calls it
			ways[i].Ways = append([]bpf.Way{elsewhere(ways[i], map[string]string{"filemap_fault": "do_swap_page"})}, ways[i].Ways...)
		}
	}
	for _, name := range []string{"on_direct", "on_direct_done", "direct_iter", "direct_begins", "direct_done", "direct_called", "direct_done_called", "on_balance", "on_balance_old", "on_switch"} {
		delete(spec.Programs, name)
	}
	p, err := bpf.OpenWays(spec, counting(), ways, nil)
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	i := slices.IndexFunc(p.Ways(), func(w sample.Way) bool { return w.What == mapped })
	w := p.Ways()[i]
	if w.By == "" || slices.Contains(w.Hooks, "fentry:do_swap_page") || len(w.Rejected) == 0 || !strings.Contains(w.Rejected[0], "do_swap_page") {
		t.Errorf("%+v, want another way than do_swap_page, and why", w)
	}
	t.Logf("%+v", w)
	var accounts int
	if err := bpf.Each(p.Map("accounts"), func(pagecacheFileKey, pagecacheAccount) { accounts++ }); err != nil || accounts > 0 {
		t.Errorf("the proof has left %d accounts, %v", accounts, err)
	}
}

// Of calls whose return the kernel does not tell, since too many are under way, nothing
// is counted but their number: that, and what was counted, is all that was read.
func TestLostReturnsAreCounted(t *testing.T) {
	bpftest.ComparesFigures(t)
	plan := Plan()
	for _, c := range plan.Capabilities {
		for _, w := range c.Ways {
			for i := range w.Programs {
				if w.Programs[i].Return != "" {
					w.Programs[i].Returns = 1
				}
			}
		}
	}
	t.Setenv(bpf.HooksVariable, "reads="+bpf.ByKprobe)
	const pages, threads, calls = 10007, 50, 8009
	path := fileOf(t, pages)
	h := host.Live()
	h.Self = 0
	p, err := openPlan(h, Slow, plan)
	if errors.Is(err, bpf.ErrNotSupported) {
		t.Skipf("no kprobes here: %v", err)
	}
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	p.sampler.pace.above = math.Inf(1)
	r := sample.NewRecorder(time.Now())
	bpftest.Collect(t, p, sample.First, r)
	bpftest.Drop(t, path)
	if _, err := load.Run(t.Context(), load.Spec{Kind: "randread", Path: path, BlockSize: load.Size(pageBytes), Count: calls, Threads: threads, Advice: "random"}, nil); err != nil {
		t.Fatal(err)
	}
	bpftest.Collect(t, p, sample.Last, r)
	w := r.Window(time.Now())
	got, _ := w.Sum(sample.CacheAccesses, sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, path)})
	var lost float64
	w.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
		if e.Class != "pagecache lost_returns" {
			t.Errorf("lost %s: %g", e.Class, s.Sum())
		}
		lost += s.Sum()
	})
	t.Logf("%.0f of %d reads counted, %.0f lost", got, calls, lost)
	// The last call of each thread that lives on may be lost without a sign.
	if lost == 0 || got+lost > calls+threads || got+lost < calls-threads {
		t.Errorf("%.0f counted and %.0f lost of %d reads", got, lost, calls)
	}
}

func TestFunctionsAreProved(t *testing.T) {
	p, _ := opened(t)
	for _, w := range p.Ways() {
		t.Logf("%+v", w)
		if w.By != bpf.ByTracepoint && (w.What == reads || w.What == mapped) && !strings.HasPrefix(w.Proof, "counted") {
			bpftest.Need(t, "bpf", errors.New(w.Proof))
		}
	}
}

// Without tracefs there are no events and no returns by kprobe: that is said, with what
// to do, and what does without them counts.
func TestWithoutTracefs(t *testing.T) {
	bpftest.Root(t)
	const variable = "PAGECACHE_NO_TRACEFS"
	if os.Getenv(variable) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestWithoutTracefs$", "-test.v")
		child.Env = append(os.Environ(), variable+"=1")
		child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		out, err := child.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutTracefs") {
			t.Error(err)
		}
		return
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range [...]string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing", "/sys/kernel/debug"} {
		for unix.Unmount(dir, unix.MNT_DETACH) == nil {
		}
	}
	const advice = "mount -t tracefs tracefs /sys/kernel/tracing"
	t.Setenv(bpf.HooksVariable, "events")
	src, err := Open(host.Live())
	bpftest.Need(t, "bpf", err)
	defer src.Close()
	var told, traced bool
	for _, w := range src.(*Probe).Ways() {
		t.Logf("%+v", w)
		if traced = traced || w.What == reads && w.By == bpf.ByTracepoint; w.By == "" {
			told = told || len(w.Rejected) > 0 && strings.Contains(w.Rejected[0], advice)
		}
	}
	if traced && !told { // where there is no tracepoint there is no event
		t.Errorf("why there are no events is not said")
	}
	for _, what := range [...]string{reads, mapped} {
		t.Setenv(bpf.HooksVariable, what+"="+bpf.ByKprobe)
		p, err := Open(host.Live())
		if err == nil {
			p.Close()
		}
		t.Logf("%s: %v", what, err)
		_, none := os.Stat("/sys/bus/event_source/devices/kprobe") // nil where the kernel has kprobes
		if err == nil || none == nil && !strings.Contains(err.Error(), advice) {
			t.Errorf("%s by kprobe: %v", what, err)
		}
	}
}
