package diagnose

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// reportOf is the report of a case of the testdata.
func reportOf(t *testing.T, name string) *Report {
	t.Helper()
	known := map[string]*testCase{}
	for _, f := range []string{"memory-of-the-victim", "direct-io"} {
		readCases(t, "testdata/"+f+".test", known)
	}
	c := known[name]
	if c == nil {
		t.Fatalf("no case is called %q", name)
	}
	return JudgeAgainst(build(t, c.all(t, known)), c.target, nil)
}

func evidenceOf(f *Finding) string {
	var names []string
	for _, e := range f.Evidence {
		names = append(names, e.Name)
	}
	return strings.Join(names, "; ")
}

// Of a mapped file the hit ratio of read calls says nothing.
func TestMappedFilesHaveNoHitRatio(t *testing.T) {
	r := reportOf(t, "a mapped file in a cgroup at its limit")
	for i := range r.Findings {
		e := evidenceOf(&r.Findings[i])
		if strings.Contains(e, "hit ratio") {
			t.Errorf("%s shows %s", r.Findings[i].Cause, e)
		}
	}
	if e := evidenceOf(&r.Findings[0]); !strings.Contains(e, "major faults") {
		t.Errorf("no major faults in %s", e)
	}
}

// What a file can be cached in is what its reader's cgroup leaves for it.
func TestAdviceOfAColdCacheSeesTheCgroup(t *testing.T) {
	r := reportOf(t, "first reads in a small cgroup")
	var all []string
	for _, a := range r.Findings[0].Advice {
		all = append(all, a.Do, a.Expect)
	}
	text := strings.Join(all, "\n")
	if strings.Contains(text, "fit into") || !strings.Contains(text, `exceed the 54.5 MiB that the limit of cgroup "/app" leaves`) {
		t.Errorf("the advice is\n%s", text)
	}
}

// A cause that could only be told without the limits is likely at most.
func TestUnreadLimitsAreNoProof(t *testing.T) {
	for _, name := range []string{"cgroups cannot be read and most of the memory is free", "cgroups cannot be read and the host is full"} {
		r := reportOf(t, name)
		if c := r.Findings[0].Confidence; c > 0.75 {
			t.Errorf("%s: %s with confidence %.2f", name, r.Findings[0].Cause, c)
		}
	}
}

// What is read at random is estimated from the repeats, the same in a short
// window as in a long one.
func TestPopulationOfRandomReads(t *testing.T) {
	const whole = 200_000
	random := rand.New(rand.NewPCG(1, 2))
	for _, draws := range []int{20_000, 60_000, 200_000, 1_000_000} {
		seen := map[int]int{}
		for range draws {
			seen[random.IntN(whole)]++
		}
		if n := population(float64(len(seen)), float64(draws)); math.Abs(n-whole) > 0.05*whole {
			t.Errorf("%d draws: %.0f estimated, want %d", draws, n, whole)
		}
		var once, twice float64
		for _, n := range seen {
			switch n {
			case 1:
				once++
			case 2:
				twice++
			}
		}
		if n := float64(len(seen)) + unseen(once, twice); math.Abs(n-whole) > 0.08*whole {
			t.Errorf("%d draws: %.0f by those met once and twice, want %d", draws, n, whole)
		}
	}
	if n := population(10, 10); !math.IsInf(n, 1) {
		t.Errorf("without repeats %g, want no bound", n)
	}
}
