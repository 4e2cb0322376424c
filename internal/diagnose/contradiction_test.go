package diagnose

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// eachWindow calls f for every case of testdata.
func eachWindow(t *testing.T, f func(t *testing.T, c *testCase, k *Case)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.test")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	known := map[string]*testCase{}
	var all []*testCase
	for _, file := range files {
		all = append(all, readCases(t, file, known)...)
	}
	for _, c := range all {
		target := c.target
		if from := known[c.like]; from != nil && len(target.PIDs) == 0 && !c.host {
			target = from.target
		}
		var before *Before
		if was := known[c.before]; c.before != "" && was != nil {
			before = &Before{Window: build(t, was.all(t, known)), Target: was.target, Differ: c.differ, Unknown: c.unknown}
		}
		f(t, c, newCaseAgainst(build(t, c.all(t, known)), target, before))
	}
}

// No cause shows a figure that says the opposite of it, in any window there is, for
// any process of it that waits; and every limit meets the figure that it is about:
// a figure that gets another name would take its limit away without a word.
func TestEvidenceAgrees(t *testing.T) {
	met := map[ID]map[string]bool{}
	check := func(t *testing.T, name string, k *Case) {
		for _, cause := range List() {
			v := cause.Judge(k)
			if v.Answer != Yes {
				continue
			}
			f := k.finding(&cause, &v)
			if why := k.contradicted(&f); why != "" {
				t.Errorf("%s: %s for %s: %s", name, cause.ID, k.victim.process.Comm, why)
			}
			for _, l := range limits()[cause.ID] {
				if figureOf(f.Evidence, l.figure) != nil && (l.than == "" || figureOf(f.Evidence, l.than) != nil) {
					if met[cause.ID] == nil {
						met[cause.ID] = map[string]bool{}
					}
					met[cause.ID][l.figure] = true
				}
			}
		}
	}
	eachWindow(t, func(t *testing.T, c *testCase, k *Case) {
		check(t, c.where, k)
		for i := range k.asked {
			if v := &k.asked[i]; k.notable(v) > 0 {
				other := *k
				other.lookAt(*v)
				check(t, c.where, &other)
			}
		}
	})
	for id, all := range limits() {
		for _, l := range all {
			if id != Healthy && !met[id][l.figure] {
				t.Errorf("%s: no window has %q (against %q) among its evidence", id, l.figure, l.than)
			}
		}
	}
}

// A finding whose own evidence says the opposite is none.
func TestContradicted(t *testing.T) {
	k := &Case{w: build(t, nil)}
	for _, c := range []struct {
		cause    ID
		evidence []Evidence
		want     string
	}{
		{"cold-cache", []Evidence{{Name: "page cache hit ratio", Value: 1, Unit: "ratio", Source: "x"}}, "page cache hit ratio"},
		{"cold-cache", []Evidence{{Name: "page cache hit ratio", Value: 0.9, Unit: "ratio", Source: "x"}}, ""},
		{"cache-busting", []Evidence{{Name: "re-read after eviction", Value: 0.01, Unit: "ratio", Source: "x"}}, "re-read"},
		{"cgroup-cache-limit", []Evidence{{Name: "memory used by the cgroup", Value: 10, Unit: "bytes", Source: "x"}, {Name: "memory limit of the cgroup", Value: 100, Unit: "bytes", Source: "x"}}, "memory used"},
		{"cgroup-cache-limit", []Evidence{{Name: "memory used by the cgroup", Value: 99, Unit: "bytes", Source: "x"}, {Name: "memory limit of the cgroup", Value: 100, Unit: "bytes", Source: "x"}}, ""},
		{"cache-squeezed", []Evidence{{Name: "cache at the start", Value: 10, Unit: "bytes", Source: "x"}, {Name: "cache at the end", Value: 100, Unit: "bytes", Source: "x"}}, "cache at the start"},
		{"cpu-bound", []Evidence{{Name: "time blocked on I/O", Value: 0.4, Unit: "ratio", Source: "x"}}, "time blocked"},
		{"sync-writes", []Evidence{{Name: "time of one flush", Value: -1, Unit: "seconds", Source: "x"}}, "counted wrongly"},
		{"sync-writes", []Evidence{{Name: "time of one flush", Value: math.Inf(1), Unit: "seconds", Source: "x"}}, "counted wrongly"},
		{Healthy, []Evidence{{Name: "longest blocked process", Value: 0.25, Unit: "ratio", Source: "x"}}, "longest blocked"},
	} {
		got := k.contradicted(&Finding{Cause: c.cause, Evidence: c.evidence})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s with %v: %q, want %q", c.cause, c.evidence, got, c.want)
		}
	}
}

// Every cause that the limits name is on the list.
func TestLimitsNameCauses(t *testing.T) {
	known := map[ID]bool{Healthy: true}
	for _, c := range List() {
		known[c.ID] = true
	}
	for id := range limits() {
		if !known[id] {
			t.Errorf("%s is no cause", id)
		}
	}
}
