package diagnose

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"iocause/internal/sample"
	"iocause/internal/store/recording"
)

// exception is a law that is not kept yet, and why.
type exception struct {
	law  string // the change
	at   string // is in the name of the case; "" for all
	want ID     // the cause of the window as it is; "" for any
	got  ID     // what it becomes; "" for any
	why  string
}

// exceptions are to become fewer: one that no window needs any more is to go.
func exceptions() []exception {
	const alike = "an earlier version counted the waiting of processes alone; each of two that follow each other waits 7 %, and queues for longer; with the account of each thread it is cpu-saturated before and after"
	return []exception{
		{"split processes", ": cycling through more than can be cached", "cache-busting", "cpu-saturated", alike},
		{"split processes", ": a re-read data set on a host with less memory", "host-difference", "cpu-saturated", alike},
		{"drop a tenth of events", "the recording cgroup-cache-limit", "cgroup-cache-limit", "cpu-saturated", "it waits 3.5 s and queues 3.4 s for a processor: of both causes a tenth less waiting makes the other the larger one"},
	}
}

func (x *exception) covers(law, at string, want, got ID) bool {
	return x.law == law && strings.Contains(at, x.at) && (x.want == "" || x.want == want) && (x.got == "" || x.got == got)
}

// seedOf is a seed that does not depend on what other cases there are.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// What does not change why something is slow does not change the verdict: it is
// the same cause, or it cannot be told. Metamorphic relations, after Chen,
// Cheung, Yiu: Metamorphic testing (HKUST-CS98-01).
func TestLaws(t *testing.T) {
	files, err := filepath.Glob("testdata/*.test")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	slices.Sort(files)
	known := map[string]*testCase{}
	var all []*testCase
	for _, f := range files {
		all = append(all, readCases(t, f, known)...)
	}
	l := lawful{t: t, excused: exceptions(), broken: map[string]int{}}
	l.used = make([]bool, len(l.excused))
	var wait sync.WaitGroup
	next := make(chan asked)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for c := range next {
				l.hold(c)
			}
		})
	}
	for _, c := range all {
		a := asked{at: c.where + ": " + c.name, w: build(t, c.all(t, known)), target: c.target}
		if from := known[c.like]; from != nil && len(a.target.PIDs) == 0 && !c.host {
			a.target = from.target
		}
		if was := known[c.before]; was != nil {
			a.before = &Before{Window: build(t, was.all(t, known)), Target: was.target, Differ: c.differ, Unknown: c.unknown}
		}
		next <- a
	}
	real := recorded(t)
	for _, a := range real {
		next <- a
	}
	close(next)
	wait.Wait()
	for i, x := range l.excused {
		if !l.used[i] {
			t.Errorf("no window needs the exception of %q at %q (%s becomes %s) any more: take it out of laws_test.go", x.law, x.at, x.want, x.got)
		}
	}
	if len(l.broken) > 0 {
		t.Log("a change that changes nothing must not change the verdict; where this one does mean something to the window, say so in exceptions() of laws_test.go")
	}
	var kinds []string
	for k, n := range l.broken {
		kinds = append(kinds, fmt.Sprintf("%4d %s", n, k))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(kinds)))
	for _, k := range kinds {
		t.Log(k)
	}
	t.Logf("%d verdicts on %d windows", l.judged, len(all)+len(real))
}

// asked is a window, and what is asked of it.
type asked struct {
	at     string
	w      *sample.Window
	target Target
	before *Before
}

// recorded are the situations of the lab whose first screens are tested, as they were
// recorded: of the whole machine, and of each program that did anything.
func recorded(t *testing.T) []asked {
	t.Helper()
	const beforeIt = "-before"
	files, err := filepath.Glob("../cli/testdata/situations/*" + recording.Suffix)
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, want 20: %v", len(files), err)
	}
	windows := map[string]*sample.Window{}
	for _, f := range files {
		windows[strings.TrimSuffix(filepath.Base(f), recording.Suffix)] = joined(t, f)
	}
	var out []asked
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		if strings.HasSuffix(name, beforeIt) {
			continue
		}
		w, programs := windows[name], map[string]bool{"": true}
		w.Each(sample.ProcUser, func(e sample.Entity, s *sample.Series) {
			if p := w.Processes[e.PID]; p.Comm != "" && !p.Kernel && s.Sum() > 0 {
				programs[p.Comm] = true
			}
		})
		for _, comm := range slices.Sorted(maps.Keys(programs)) {
			a := asked{at: "the recording " + name, w: w, target: Target{Comm: comm}}
			if comm != "" {
				a.at += " of " + comm
			}
			if was := windows[name+beforeIt]; was != nil {
				a.before = &Before{Window: was, Target: a.target}
			}
			out = append(out, a)
		}
	}
	return out
}

// joined is a recording as one window.
func joined(t *testing.T, name string) *sample.Window {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	var all sample.Join
	for {
		next, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all.Window()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Add(next.Window)
	}
}

// lawful holds windows to the laws.
type lawful struct {
	t       *testing.T
	excused []exception
	mutex   sync.Mutex // of the rest
	used    []bool
	judged  int
	broken  map[string]int
}

// hold tries every change on a window: on what an earlier version recorded, which knows
// the waiting of processes alone, and with the account of each thread.
func (l *lawful) hold(a asked) {
	l.try(a)
	if now := accounted(a.w); now != a.w {
		a.at, a.w = a.at+", each thread accounted", now
		if a.before != nil {
			with := *a.before
			with.Window = accounted(with.Window)
			a.before = &with
		}
		l.try(a)
	}
}

// try changes a window and the one it is compared with, in the same way.
func (l *lawful) try(a asked) {
	want := JudgeAgainst(a.w, a.target, a.before).Primary
	if want == Unknown {
		return // whatever is said of another window contradicts nothing
	}
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for _, ch := range changes() {
		for seed := range seeds {
			with := func() *rand.Rand { return rand.New(rand.NewPCG(seedOf(a.at)+seed, 0)) }
			now, target := ch.do(a.w, a.target, with())
			before := a.before
			if before != nil {
				before = &Before{Differ: slices.Clone(a.before.Differ), Unknown: a.before.Unknown}
				before.Window, before.Target = ch.do(a.before.Window, a.before.Target, with())
				if ch.name == "permute devices" {
					other := otherNames(with())
					for i := range before.Differ {
						before.Differ[i].Device = other(before.Differ[i].Device)
					}
				}
			}
			l.compare(a.at, ch.name, want, JudgeAgainst(now, target, before).Primary)
		}
	}
}

// compare holds what became of a verdict to the law.
func (l *lawful) compare(at, law string, want, got ID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.judged++
	if got == want || got == Unknown {
		return
	}
	for i := range l.excused {
		if l.excused[i].covers(law, at, want, got) {
			l.used[i] = true
			return
		}
	}
	l.broken[fmt.Sprintf("%s: %s becomes %s", law, want, got)]++
	l.t.Errorf("%s: %s: %s becomes %s", at, law, want, got)
}
