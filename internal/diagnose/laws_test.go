package diagnose

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"testing"
)

// exception is a law that is not kept yet, and why.
type exception struct {
	law  string // the change
	at   string // the case; "" for all
	want ID     // the cause of the window as it is; "" for any
	got  ID     // what it becomes; "" for any
	why  string
}

// exceptions are to become fewer: one that no window needs any more is to go.
func exceptions() []exception {
	const lived = "a window does not say how long a process lived, so each of two that follow each other waits half of it"
	return []exception{
		{"repeat the window", "random reads seen for ten seconds", "direct-io", "device-latency-bound", "the second time every read would come back"},
		{"repeat the window", "random reads seen for a minute", "direct-io", "device-latency-bound", "the second time every read would come back"},
		{"split processes", "too few read twice to be sure", "device-latency-bound", "direct-io", "of half the reads a quarter would come back, not half"},
		{"split processes", "", "device-queueing", Healthy, lived},
		{"split processes", "a writer faster than its device", "dirty-throttling", Healthy, lived},
		{"split processes", "writes below a lower limit of dirty pages", "host-difference", Healthy, lived},
		{"split processes", "cycling through more than can be cached", "cache-busting", "cpu-saturated", lived},
		{"split processes", "a re-read data set on a host with less memory", "host-difference", "cpu-saturated", lived},

		// These changes are not without meaning to these windows: nothing is wrong.
		{"half as fast", "flat bytes while the depth varies", "device-bandwidth-limit", "device-queueing", "a device of half the bandwidth with requests of this size is limited by their number as well"},
		{"drop a tenth of events", "flat bytes while the depth varies", "device-bandwidth-limit", "device-iops-limit", "with requests of one size both are flat, and a tenth less evens out what told them apart"},
		{"repeat the window", "four bursts are too few", "device-queueing", "microbursts", "eight are enough"},
		{"repeat the window", "the same, followed all along", Healthy, "lock-contention", "in twice the time it is followed for long enough"},
		{"repeat the window", "told: a cache that grows by what is read", "cold-cache", "device-queueing", "a cache that falls back to its old size has not grown by what was read"},
	}
}

func (x *exception) covers(law, at string, want, got ID) bool {
	return x.law == law && (x.at == "" || x.at == at) && (x.want == "" || x.want == want) && (x.got == "" || x.got == got)
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
	excused := exceptions()
	used := make([]bool, len(excused))
	judged, broken := 0, map[string]int{}
	for _, c := range all {
		w := build(t, c.all(t, known))
		target := c.target
		if from := known[c.like]; from != nil && len(target.PIDs) == 0 && !c.host {
			target = from.target
		}
		var was *testCase
		if c.before != "" {
			was = known[c.before]
		}
		judge := func(ch *change, seed uint64) ID {
			now, asked := w, target
			if ch != nil {
				now, asked = ch.do(w, target, rand.New(rand.NewPCG(seed, 0)))
			}
			var before *Before
			if was != nil {
				then, askedThen := build(t, was.all(t, known)), was.target
				if ch != nil {
					then, askedThen = ch.do(then, askedThen, rand.New(rand.NewPCG(seed, 0)))
				}
				before = &Before{Window: then, Target: askedThen, Differ: slices.Clone(c.differ), Unknown: c.unknown}
				if ch != nil && ch.name == "permute devices" {
					now := otherNames(rand.New(rand.NewPCG(seed, 0)))
					for i := range before.Differ {
						before.Differ[i].Device = now(before.Differ[i].Device)
					}
				}
			}
			judged++
			return JudgeAgainst(now, asked, before).Primary
		}
		want := judge(nil, 0)
		if want == Unknown {
			continue // whatever is said of another window contradicts nothing
		}
		for _, ch := range changes() {
			for seed := range uint64(2) {
				got := judge(&ch, seedOf(c.name)+seed)
				if got == want || got == Unknown {
					continue
				}
				covered := false
				for i := range excused {
					if excused[i].covers(ch.name, c.name, want, got) {
						used[i], covered = true, true
					}
				}
				if !covered {
					broken[fmt.Sprintf("%s: %s becomes %s", ch.name, want, got)]++
					t.Errorf("%s: %q: %s: %s becomes %s", c.where, c.name, ch.name, want, got)
				}
			}
		}
	}
	for i, x := range excused {
		if !used[i] {
			t.Errorf("no window needs the exception of %q at %q (%s becomes %s) any more: take it out of laws_test.go", x.law, x.at, x.want, x.got)
		}
	}
	if len(broken) > 0 {
		t.Log("a change that changes nothing must not change the verdict; where this one does mean something to the window, say so in exceptions() of laws_test.go")
	}
	var kinds []string
	for k, n := range broken {
		kinds = append(kinds, fmt.Sprintf("%4d %s", n, k))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(kinds)))
	for _, k := range kinds {
		t.Log(k)
	}
	t.Logf("%d verdicts on %d windows", judged, len(all))
}
