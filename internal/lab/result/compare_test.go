package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
)

// kept is a result of three repeats with these rates, as a run keeps it.
func kept(t *testing.T, kernel string, rates ...int64) *Result {
	t.Helper()
	r := &Result{Title: "t", Scale: 1}
	r.Host.Kernel = kernel
	for i, calls := range rates {
		r.Phases = append(r.Phases, lab.PhaseResult{Phase: "p", Repeat: i + 1, Loads: map[string]*load.Result{"l": {Calls: calls, Seconds: 1}}})
	}
	dir := t.TempDir()
	b, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "results.json"), b, 0o600)
	}
	if err == nil {
		r, err = Read(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Settings are named for a rate that is lower, not for one that is higher or the same.
func TestCompare(t *testing.T) {
	slow, fast, noise := kept(t, "6.1", 99, 100, 101), kept(t, "6.18", 149, 150, 151), kept(t, "6.18", 80, 100, 125)
	compare := func(a, b *Result) *Comparison {
		c, err := Compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Differences) == 0 || len(c.Figures) == 0 {
			t.Fatalf("%+v", c)
		}
		return c
	}
	c := compare(fast, slow)
	if len(c.Findings) != 1 || c.Findings[0].Cause != diagnose.HostDifference || len(c.CannotTell) != 0 || !strings.Contains(c.Findings[0].Title, "B is slower") {
		t.Errorf("slower: %+v", c)
	} else if w := c.Findings[0].Weight; w < 0.32 || w > 0.34 {
		t.Errorf("slower: weight %g, want a third", w)
	}
	c = compare(slow, fast)
	if len(c.Findings) != 0 || len(c.CannotTell) != 1 || !strings.Contains(c.CannotTell[0].Missing, "B is faster") {
		t.Errorf("faster: %+v", c)
	}
	for name, c := range map[string]*Comparison{"noise": compare(slow, noise), "noise before": compare(noise, slow)} {
		if len(c.Findings) != 0 || len(c.CannotTell) != 1 || strings.Contains(c.CannotTell[0].Missing, "faster") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
