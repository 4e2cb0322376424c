package pagecache

import (
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Many short processes read one file beside one that goes on reading another,
// over several windows with and without sweeps in between: every page of all is
// counted once, and no row of a process that has ended stays in the maps.
func TestRowsOfEndedProcesses(t *testing.T) {
	bpftest.ComparesFigures(t)
	const windows, each, shortPages, longPages = 4, 60, 97, 211
	short, long := fileOf(t, shortPages), bpftest.File(t, longPages)
	h := host.Live()
	h.Self = 0 // the process that goes on is this one
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer source.Close()
	p := source.(*Probe)
	p.sampler.pace.above = math.Inf(1) // figures are compared exactly
	r := sample.NewRecorder(time.Now())
	collect := func(phase sample.Phase) {
		t.Helper()
		r.At(time.Now())
		bpftest.Collect(t, p, phase, r)
	}
	collect(sample.First)
	shortID, longID := bpftest.ID(t, short), bpftest.ID(t, long)
	readLong := func() {
		t.Helper()
		f, err := os.Open(long)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		page := make([]byte, pageBytes)
		for range longPages {
			if _, err := f.Read(page); err != nil {
				t.Fatal(err)
			}
		}
	}
	pids := map[uint32]bool{}
	var ofShort, ofLong float64
	for window := range windows {
		readLong()
		for i := range each {
			c := exec.Command("dd", "if="+short, "of=/dev/null", "bs=4096", "status=none")
			if err := c.Run(); err != nil {
				t.Fatal(err)
			}
			pids[uint32(c.Process.Pid)] = true
			if window%2 == 1 && i%20 == 7 {
				p.due = bpf.Sweep{} // as if the window were long
				collect(sample.Tick)
			}
		}
		collect(sample.IntervalEnd)
		w := r.NextWindow(time.Now())
		w.Each(sample.CacheAccesses, func(e sample.Entity, s *sample.Series) {
			switch {
			case e.File == shortID && pids[uint32(e.PID)]:
				ofShort += s.Sum()
			case e.File == longID && e.PID == os.Getpid():
				ofLong += s.Sum()
			}
		})
		if want := float64((window + 1) * each * shortPages); ofShort != want {
			t.Errorf("window %d: %g pages were read by short processes so far, want %g", window, ofShort, want)
		}
		if want := float64((window + 1) * longPages); ofLong != want {
			t.Errorf("window %d: %g pages were read by the process that goes on so far, want %g", window, ofLong, want)
		}
		if w.Files[shortID].Path != short {
			t.Errorf("window %d: the file is called %q, want %q", window, w.Files[shortID].Path, short)
		}
		rows, met := 0, 0
		if err := bpf.Each(p.probe.Map("accounts"), func(k pagecacheFileKey, _ pagecacheAccount) {
			if pids[k.Tgid] {
				rows++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := bpf.Each(p.probe.Map("processes"), func(tgid uint32, _ [48]byte) {
			if pids[tgid] {
				met++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if rows > 0 || met > 0 {
			t.Errorf("window %d: %d accounts and %d processes that have ended are kept", window, rows, met)
		}
	}
}

// The path of a file is forgotten when no account needs it any more, and found
// again when one does.
func TestPathsOfFilesThatNobodyUses(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := fileOf(t, 7)
	h := host.Live()
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer source.Close()
	p := source.(*Probe)
	r := sample.NewRecorder(time.Now())
	observe := func(phase sample.Phase) *sample.Window {
		t.Helper()
		r.At(time.Now())
		p.forgot = time.Time{} // as if the window were long
		bpftest.Collect(t, p, phase, r)
		return r.NextWindow(time.Now())
	}
	has := func() (kept bool) {
		id := bpftest.ID(t, path)
		var raw pagecachePath
		return p.probe.Map("paths").Lookup(pagecacheInodeKey{Ino: id.Ino, Dev: uint64(id.Dev)}, &raw) == nil
	}
	read := func() {
		t.Helper()
		if err := exec.Command("cat", path).Run(); err != nil {
			t.Fatal(err)
		}
	}
	observe(sample.First)
	read()
	if w := observe(sample.IntervalEnd); w.Files[bpftest.ID(t, path)].Path != path || !has() {
		t.Errorf("%+v, kept: %v", w.Files[bpftest.ID(t, path)], has())
	}
	observe(sample.IntervalEnd)
	if has() {
		t.Error("the path is kept though nobody has used the file for two windows")
	}
	read()
	if w := observe(sample.IntervalEnd); w.Files[bpftest.ID(t, path)].Path != path || !has() {
		t.Errorf("%+v, kept: %v", w.Files[bpftest.ID(t, path)], has())
	}
}
