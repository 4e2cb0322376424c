package cli

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/lab/labtest"
	"iocause/internal/lab/result"
	"iocause/internal/require"
)

// lateEater reads a file that fits into its cgroup's memory until, in the
// middle of the phase, that is taken.
const lateEater = `title: a late eater
requires: [root, memcg]
files: {data: 96M}
window: 100ms
setup:
  - cgroup: {name: host, memory: 192M}
phases:
  - name: warming
    loads: [{name: reads, cgroup: host, do: {kind: read, path: "{data}", bs: 1M}}]
  - name: squeezed
    pressure: [{name: eater, cgroup: host, after: 1500ms, do: {kind: eat, bs: 1M, size: 120M, tmpfs: true}}]
    loads: [{name: reads, cgroup: host, do: {kind: randread, path: "{data}", bs: 8k, duration: 1s}}]
`

// A real run in which memory is taken midway: the moment is found, and that
// the page cache became small then.
func TestLabRunFindsWhenItBecameSlow(t *testing.T) {
	labtest.Need(t, "root", "memcg")
	dir := t.TempDir()
	file, out := filepath.Join(dir, "late.yaml"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(file, []byte(lateEater), 0o600))
	code, stdout, notes := run{args: []string{"lab", "run", file, "--scale=1", "--duration=4s", "--out", out}}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, notes)
	}
	r, err := result.Read(out)
	require.NoError(t, err)
	says := func(c result.Change, of, name string, more bool) bool {
		return slices.ContainsFunc(c.Also, func(a result.Also) bool { return a.Of == of && a.Name == name && (a.To > a.From) == more })
	}
	at := slices.IndexFunc(r.Changes, func(c result.Change) bool {
		// Where others take the processors the rate says less than the latency
		// does, and both may move a little before or after the memory.
		slower := c.Figure == "calls" && c.To < c.From/2 || c.Figure == "latency p99" && c.To > 2*c.From
		return c.Phase == "squeezed" && slower && c.After > 0.5 && c.After < 3.5 &&
			says(c, "cgroup host", "memory in use", true) && says(c, "cgroup host", "page cache", false)
	})
	if at < 0 {
		series, _ := os.ReadFile(filepath.Join(out, "series.csv"))
		for line := range strings.Lines(string(series)) { // what it looked through
			if strings.HasPrefix(line, "squeezed") && (strings.Contains(line, "load reads,calls") || strings.Contains(line, "host,memory in use")) {
				t.Log(line)
			}
		}
		t.Fatalf("no change when memory was taken, after 1.5 s: %+v", r.Changes)
	}
	if !strings.Contains(stdout, "Changes that stayed") {
		t.Errorf("the change is not shown: %s", stdout)
	}
	// The series are the whole account.
	b, err := os.Open(filepath.Join(out, "series.csv"))
	require.NoError(t, err)
	defer b.Close()
	lines, err := csv.NewReader(b).ReadAll()
	require.NoError(t, err)
	var calls float64
	figures := map[string]bool{}
	for _, l := range lines[1:] {
		figures[l[2]+": "+l[3]] = true
		if l[0] == "squeezed" && l[2] == "load reads" && l[3] == "calls" {
			v, err := strconv.ParseFloat(l[8], 64)
			require.NoError(t, err)
			calls += v / 10 // windows of 100 ms
		}
	}
	whole := float64(r.Phases[1].Loads["reads"].Calls)
	if math.Abs(calls-whole) > 0.05*whole {
		t.Errorf("the windows have %.0f calls, the account %.0f", calls, whole)
	}
	for _, want := range []string{"host: memory available", "cgroup host: page cache", "load reads: latency p99"} {
		if !figures[want] {
			t.Errorf("no series %q in %v", want, figures)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !strings.Contains(string(page), "load reads: calls") || !strings.Contains(string(page), `class="mark"`) {
		t.Errorf("%v: no chart with the change in %d bytes", err, len(page))
	}
}
