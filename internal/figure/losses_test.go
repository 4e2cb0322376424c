package figure

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// Each counter of the probes has words: nobody who reads "lost_rows" knows what it
// does to the figures.
func TestEveryLossHasWords(t *testing.T) {
	files, err := filepath.Glob("../source/probe/*/*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	call := regexp.MustCompile(`(?s)\.Losses\("([a-z ]+)",\s*\[\]string\{([^}]*)\}`)
	name := regexp.MustCompile(`"(\w+)"`)
	found := map[string]bool{}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range call.FindAllStringSubmatch(string(source), -1) {
			for _, n := range name.FindAllStringSubmatch(c[2], -1) {
				found[c[1]+" "+n[1]] = true
			}
		}
	}
	if len(found) < 30 {
		t.Errorf("only %d counters were found in the probes", len(found))
	}
	for class := range found {
		if _, rest := lossWords(class); strings.Contains(rest, class) {
			t.Errorf("%q has no words", class)
		}
	}
	for _, l := range knownLosses() {
		if !found[l.class] {
			t.Errorf("no probe counts %q", l.class)
		}
	}
}

func TestLossesSayWhatTheyMean(t *testing.T) {
	r := sample.NewRecorder(time.Unix(0, 0))
	lost := func(class string, n float64) { r.Put(sample.CostLost, sample.Entity{Class: class}, n, "test") }
	lost("on_switch recursion", 2)
	r.Put(sample.CostBPFRuns, sample.Entity{Class: "on_switch"}, 198, "test")
	lost("blockio missed_completions", 9)
	r.Put(sample.BlockOps, sample.Entity{Device: "vda", Class: "read"}, 90_000, "test")
	r.Put(sample.BlockOps, sample.Entity{Device: "vda", Class: "read", PID: 7}, 80_000, "test")
	lost("pagecache watch lost_returns", 1)
	lost("new lost_things", 3)
	want := []struct {
		small bool
		text  string
	}{
		{false, "1 read call whose end the kernel did not report: missing in hits and misses"},
		{false, "3 events lost (new lost_things): the figures made of them are too low"},
		{false, "2 events (1 %) came while the kernel program for such events (on_switch) was still running: not counted"},
		{true, "9 disk requests (0.01 %) whose end the kernel did not report: missing in latencies and in bytes by process"},
	}
	got := Losses(r.Window(time.Unix(1, 0)))
	if len(got) != len(want) {
		t.Fatalf("%d losses: %+v", len(got), got)
	}
	for i, w := range want {
		if got[i].Text != w.text || got[i].Small() != w.small {
			t.Errorf("%d: %q, small %v\nwant %q, %v", i, got[i].Text, got[i].Small(), w.text, w.small)
		}
	}
}
