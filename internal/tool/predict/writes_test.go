package predict

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
)

// tree is a host whose dirty memory is this, in pages.
func tree(t *testing.T) (h *host.Host, set func(dirty, dirtied, written int)) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	return host.Tree(root, time.Now), func(dirty, dirtied, written int) {
		write(t, root, "proc/vmstat", fmt.Sprintf("nr_dirty %d\nnr_writeback 0\nnr_dirtied %d\nnr_written %d\nnr_dirty_threshold 40000\nnr_dirty_background_threshold 20000\n", dirty, dirtied, written))
	}
}

// The first case is what there is, at the rate that is asked for.
func TestWrites(t *testing.T) {
	h, set := tree(t)
	set(0, 1000, 1000)
	l, err := WatchWrites(h)
	if err != nil {
		t.Fatal(err)
	}
	set(10000, 2000, 1000)
	w, err := l.Predict(100*4096, 10000*4096)
	if err != nil {
		t.Fatal(err)
	}
	now := w.Cases[0]
	// nothing is written back: 20,000 pages more at 100 a second
	if now.From != 30000*4096 || now.After == nil || *now.After != 200 || *now.Bytes != 20000*4096 || *now.Behind != 30000*4096 || !now.Bounds {
		t.Errorf("%+v", now)
	}
	if len(w.Cases) != 5 {
		t.Fatalf("%d cases, want 5: nothing is known of the devices", len(w.Cases))
	}
	// a limit below where writeback begins now: it begins at half of that then, and 10,000 pages are dirty
	if asked := w.Cases[4]; asked.From != 7500*4096 || asked.After == nil || *asked.After != 0 || asked.Name != "a limit of 39.1 MiB" {
		t.Errorf("%+v", asked)
	}
	if got := strings.Join(w.Advice, " "); !strings.Contains(got, "at the earliest") || !strings.Contains(got, "writers are paused from 117 MiB on") {
		t.Error(got)
	}
	if strings.Contains(strings.Join(w.Advice, " "), "for good") { // the devices' rate is not known
		t.Error(w.Advice)
	}
	set(35000, 90000, 80000)
	if w, err = l.Predict(0, 0); err != nil || *w.Cases[0].After != 0 || len(w.Table().Rows) != len(w.Cases) {
		t.Errorf("%+v, %v", w.Cases[0], err)
	}
}

// What the device takes whose files were written to counts, not the fastest one's.
func TestWritesOfADevice(t *testing.T) {
	h, set := tree(t)
	stats := func(name string, dirtied, written, speed int) {
		dir := filepath.Join(h.Root, "sys/kernel/debug/bdi", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "stats", fmt.Sprintf("BdiWriteback:       0 kB\nBdiDirtied:    %d kB\nBdiWritten:   %d kB\nBdiWriteBandwidth:  %d kBps\nb_dirty:  0\n", dirtied, written, speed))
	}
	for _, c := range []struct {
		dirtied int // by 7:0 at the end
		rate    float64
		says    string
	}{{900, 20000 * 1024, "of the device that was written to (bdi/7:0)"}, {500, 300000 * 1024, "of the fastest device (bdi/254:0)"}} {
		set(0, 1000, 1000)
		stats("7:0", 500, 400, 20000)
		stats("254:0", 70000, 400, 300000)
		l, err := WatchWrites(h)
		if err != nil {
			t.Fatal(err)
		}
		stats("7:0", c.dirtied, 400, 20000)
		w, err := l.Predict(100<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		if now := &w.Cases[0]; now.Behind != nil {
			want := fmt.Sprintf("falls behind for good once between %s and %s are written", bytes(*now.Bytes), bytes(*now.Behind))
			if got := strings.Join(w.Advice, " "); c.rate > now.Rate || !strings.Contains(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if got := w.Cases[0].Drain; got != c.rate || !strings.Contains(strings.Join(w.Advice, " "), c.says) {
			t.Errorf("%.0f bytes a second, %q; want %.0f, %q", got, w.Advice, c.rate, c.says)
		}
	}
}

// Where enough is dirty all the time, what was written back to the device that was
// written to is its rate, whatever others write meanwhile that was dirty before.
func TestDrainOfTheWritten(t *testing.T) {
	h, set := tree(t)
	stats := func(name string, dirtied, written int) {
		dir := filepath.Join(h.Root, "sys/kernel/debug/bdi", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "stats", fmt.Sprintf("BdiDirtied:    %d kB\nBdiWritten:   %d kB\nBdiWriteBandwidth:  1 kBps\n", dirtied, written))
	}
	set(30000, 1000, 1000)
	stats("7:0", 0, 0)
	stats("254:0", 1000, 1000)
	l, err := WatchWrites(h)
	if err != nil {
		t.Fatal(err)
	}
	set(30000, 1<<20, 1<<20)
	stats("7:0", 1<<20, 1<<19)
	stats("254:0", 2000, 1<<30)
	w, err := l.Predict(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Cases[0].Drain * w.Seconds; math.Abs(got/(1<<29)-1) > 0.01 || !strings.Contains(strings.Join(w.Advice, " "), "(bdi/7:0)") {
		t.Errorf("%.0f bytes, %q; want %d of bdi/7:0", got, w.Advice, 1<<29)
	}
	// two devices that are written to: what all of them take counts
	stats("254:0", 1<<20, 1<<30)
	if w, err = l.Predict(0, 0); err != nil || strings.Contains(strings.Join(w.Advice, " "), "bdi/") {
		t.Errorf("%q, %v", w.Advice, err)
	}
}

// Without the kernel's limits there is no prediction.
func TestWritesWithoutLimits(t *testing.T) {
	h, _ := tree(t)
	write(t, h.Root, "proc/vmstat", "nr_dirty 1\n")
	if _, err := WatchWrites(h); err == nil || !strings.Contains(err.Error(), "nr_dirty_threshold") {
		t.Error(err)
	}
}
