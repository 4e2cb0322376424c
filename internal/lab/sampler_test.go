package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab/load"
	"iocause/internal/require"
)

// The neighbours are the other programs, each with what it moved in each
// window, by name; what ended or did nothing is none.
func TestNeighboursAreCountedByName(t *testing.T) {
	root := t.TempDir()
	set := func(pid int, comm string, read, written int) {
		dir := filepath.Join(root, "proc", fmt.Sprint(pid))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		for name, content := range map[string]string{
			"comm": comm + "\n", "io": fmt.Sprintf("rchar: 99\nwchar: 0\nsyscr: 1\nsyscw: 0\nread_bytes: %d\nwrite_bytes: %d\n", read, written),
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
	}
	start := time.Unix(1000, 0)
	set(10, "rsync", 500, 0)
	set(11, "rsync", 0, 0)
	set(12, "idle", 700, 700)
	set(13, "own", 0, 0)
	n := newNeighbours(host.Tree(root, time.Now), start, 250*time.Millisecond)
	if n.step != time.Second {
		t.Fatalf("looks every %v", n.step)
	}
	own := map[int]bool{13: true}
	set(10, "rsync", 1500, 0)
	set(11, "rsync", 100, 200)
	set(13, "own", 9999, 0)
	n.tick(start.Add(250*time.Millisecond), own) // too early
	n.tick(start.Add(time.Second), own)
	n.tick(start.Add(2*time.Second), own)
	set(12, "idle", 700, 800)
	n.tick(start.Add(3*time.Second), own)
	got := n.series()
	want := map[string][]float64{"neighbour rsync": {1300, 0, 0}, "neighbour idle": {0, 0, 100}}
	if len(got) != len(want) || got[0].Of != "neighbour rsync" {
		t.Fatalf("%+v", got)
	}
	for _, s := range got {
		if fmt.Sprint(s.Values) != fmt.Sprint(want[s.Of]) || s.Step != time.Second {
			t.Errorf("%s: %v every %v, want %v", s.Of, s.Values, s.Step, want[s.Of])
		}
	}
}

// A window without calls has a rate of zero and no latency; a stump at the end
// is left out.
func TestSeriesOfALoad(t *testing.T) {
	all := loadSeries("l", &load.Series{Start: time.Unix(5, 0), Length: 2, Windows: []load.Window{
		{Seconds: 2, Calls: 10, Bytes: 40, P50: 0.1, P99: 0.2, Max: 0.3}, {Seconds: 2}, {Seconds: 0.5, Calls: 9},
	}})
	found := map[string]string{}
	for _, s := range all {
		found[s.Name] = fmt.Sprint(s.Values)
		if s.Of != "load l" || s.Step != 2*time.Second {
			t.Errorf("%+v", s)
		}
	}
	nan := math.NaN()
	for name, want := range map[string][]float64{"calls": {5, 0}, "bytes": {20, 0}, "latency p50": {0.1, nan}, "latency p99": {0.2, nan}, "latency max": {0.3, nan}} {
		if found[name] != fmt.Sprint(want) {
			t.Errorf("%s: %s, want %v", name, found[name], want)
		}
	}
}

// Hours have windows of whole seconds, about as many as a page can show.
func TestWindowOfAPhase(t *testing.T) {
	for _, c := range []struct{ asked, duration, want time.Duration }{
		{0, 6 * time.Second, 250 * time.Millisecond}, {0, 150 * time.Second, 250 * time.Millisecond}, {0, 151 * time.Second, time.Second},
		{0, time.Hour, 6 * time.Second}, {0, 8 * time.Hour, 48 * time.Second}, {time.Second, 8 * time.Hour, time.Second},
	} {
		if got := windowOf(c.asked, c.duration); got != c.want {
			t.Errorf("%v, %v: %v, not %v", c.asked, c.duration, got, c.want)
		}
	}
}
