package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

func TestMain(m *testing.M) { proctest.Main(m) }

// counted is what the kernel has counted of it.
func counted(t *testing.T, w *proctest.Worker) host.IO {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", w.PID))
	if err != nil {
		t.Fatal(err)
	}
	x, err := procfile.ParseIO(b)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// kept is what the tables hold of a process.
func kept(t *testing.T, dir string, id int) (read, written float64, names map[string]bool, starts map[time.Duration]bool, windows int) {
	t.Helper()
	names, starts = map[string]bool{}, map[time.Duration]bool{}
	lost, err := recording.EachShelved(filepath.Join(dir, TablesIn), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), func(r *recording.Record) error {
		windows++
		if p, ok := r.Window.Processes[id]; ok {
			names[p.Comm], starts[p.Start] = true, true
		}
		a, _ := r.Window.Sum(sample.ProcReadBytes, sample.Entity{PID: id})
		b, _ := r.Window.Sum(sample.ProcWriteBytes, sample.Entity{PID: id})
		read, written = read+a, written+b
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	return read, written, names, starts, windows
}

// What a process wrote and read is in the tables to the byte, with its name and
// start, as often as it worked; nothing is lost between two intervals.
func TestTablesHaveWhatProcessesDid(t *testing.T) {
	machine(t, "root")
	w := proctest.StartWorker(t, bpftest.File(t, proctest.WorkerWritten/4096), 1)
	before := counted(t, w)
	dir := filepath.Join(t.TempDir(), "rec")
	c := quickConfig(dir)
	c.Tables.Interval, c.Tables.Rows = time.Second, mostRows
	a := start(t, c)
	until(t, "a first table", func() bool { _, _, _, _, n := kept(t, dir, 0); return n > 0 })
	const rounds = 7
	for range rounds {
		w.Work(t)
		time.Sleep(170 * time.Millisecond) // so that they fall into several intervals
	}
	after := counted(t, w)
	// What it writes also makes pages of the file system's own dirty.
	wantRead, wantWritten := float64(after.ReadBytes-before.ReadBytes), float64(after.WriteBytes-before.WriteBytes)
	if wantRead != rounds*proctest.WorkerRead || wantWritten < rounds*proctest.WorkerWritten || wantWritten > 1.5*rounds*proctest.WorkerWritten {
		t.Fatalf("the kernel counted %v bytes read and %v written", wantRead, wantWritten)
	}
	until(t, "all bytes", func() bool {
		read, written, _, _, _ := kept(t, dir, w.PID)
		return read >= wantRead && written >= wantWritten
	})
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	read, written, names, starts, _ := kept(t, dir, w.PID)
	if read != wantRead || written != wantWritten {
		t.Errorf("%.0f bytes read and %.0f written, want %.0f and %.0f", read, written, wantRead, wantWritten)
	}
	if len(starts) != 1 || len(names) != 1 || !names[proctest.WorkerName] {
		t.Errorf("names %v, starts %v", names, starts)
	}
	if strings.Contains(a.log.String(), "ERROR") {
		t.Error(a.log)
	}
}

// What is done on a stack of devices counts once, so who does more on a disk is kept.
func TestBusiestOnStacks(t *testing.T) {
	r := sample.NewRecorder(time.Unix(100, 0))
	r.Put(sample.CgroupDeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}, 1, "")
	for _, device := range []string{"dm-0", "vda"} {
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/lvm", Device: device}, 1000, "")
	}
	r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/disk", Device: "nvme0n1"}, 1500, "")
	w := busiest(r.Window(time.Unix(110, 0)), 1, nil)
	if _, ok := w.Sum(sample.CgroupReadBytes, sample.Entity{Cgroup: "/disk", Device: "nvme0n1"}); !ok {
		t.Error("who read most is missing")
	}
	if _, ok := w.Sum(sample.CgroupReadBytes, sample.Entity{Cgroup: "/lvm", Device: "dm-0"}); ok {
		t.Error("who read less is there")
	}
}

func TestBusiestChoosesByEveryOrder(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := sample.NewRecorder(at)
	r.At(at.Add(10 * time.Second))
	for pid := 1; pid <= 100; pid++ {
		e := sample.Entity{PID: pid}
		r.PutProcess(pid, sample.Process{Comm: "p", IOCgroup: "/a"})
		r.Put(sample.ProcReadBytes, e, float64(pid), "")
		r.Put(sample.ProcUser, e, 1/float64(pid), "")
		r.Put(sample.ProcBlkioDelay, e, 0, "")
		r.Put(sample.ProcRSS, e, 1, "")
		r.Put(sample.CgroupWriteBytes, sample.Entity{Cgroup: fmt.Sprintf("/%03d", pid), Device: "vda"}, float64(pid%50), "")
	}
	r.Put(sample.ProcBlkioDelay, sample.Entity{PID: 50}, 3, "")
	r.Put(sample.CgroupDeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}, 1, "")
	r.PutGap(sample.Gap{Why: "x", Metrics: []sample.Metric{sample.ProcRSS, sample.ProcReadBytes}})
	w := busiest(r.Window(at.Add(10*time.Second)), 7, []sample.Gap{{Why: "y"}})
	for _, pid := range []int{100, 50, 1, 99, 2, 98, 3} {
		if _, ok := w.Processes[pid]; !ok {
			t.Errorf("%d is missing of %v", pid, w.Processes)
		}
	}
	groups := map[string]bool{}
	w.Each(sample.CgroupWriteBytes, func(e sample.Entity, s *sample.Series) { groups[e.Cgroup] = s.Sum() >= 46 })
	if len(w.Processes) != 7 || len(groups) != 7 || w.Has(sample.ProcRSS) || len(w.Gaps) != 2 || len(w.Gaps[0].Metrics) != 1 {
		t.Errorf("%v, %v, %+v", w.Processes, groups, w.Gaps)
	}
	for g, most := range groups {
		if !most {
			t.Errorf("%s is among the busiest", g)
		}
	}
	if v, ok := w.Value(sample.CgroupDeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}); !ok || v != 1 {
		t.Error("what the device of a cgroup lies on is missing")
	}
	if v, _ := w.Sum(sample.ProcBlkioDelay, sample.Entity{PID: 50}); v != 3 {
		t.Error(v)
	}
	// All of a quiet time is nothing.
	if q := busiest(sample.NewWindow(at, time.Second), 7, nil); len(q.Processes) != 0 || len(q.Metrics()) != 0 {
		t.Errorf("%+v", q)
	}
}

// While the disk does not take them tables wait in memory, the newest ones; and
// then all that waited is written.
func TestTablesWaitForTheDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, TablesIn), nil, 0o600); err != nil { // no folder can be made
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Dir = dir
	x := newTables(&c, slog.New(slog.DiscardHandler), newShortage(slog.New(slog.DiscardHandler), time.Now), "test")
	at := host.Live().Now().Add(-time.Hour)
	for i := range mostTables + 5 {
		x.take(sample.NewWindow(at.Add(time.Duration(i)*10*time.Second), 10*time.Second))
	}
	if err := x.write(); err == nil || x.lost.Load() != 5 || x.kept.Load() != 0 {
		t.Fatalf("%v, lost %d, kept %d", err, x.lost.Load(), x.kept.Load())
	}
	if err := os.Remove(filepath.Join(dir, TablesIn)); err != nil {
		t.Fatal(err)
	}
	if err := x.write(); err != nil || x.kept.Load() != mostTables {
		t.Errorf("%v, kept %d", err, x.kept.Load())
	}
	first := time.Time{}
	n := 0
	if _, err := recording.EachShelved(filepath.Join(dir, TablesIn), at, at.Add(2*time.Hour), func(r *recording.Record) error {
		if n++; n == 1 {
			first = r.Window.Start
		}
		return nil
	}); err != nil || n != mostTables || !first.Equal(at.Add(50*time.Second).Round(0)) {
		t.Errorf("%v, %d windows from %v on", err, n, first)
	}
}

// An incident is kept with the tables around it, and not with others.
func TestTablesAreEvidence(t *testing.T) {
	c := DefaultConfig()
	c.Dir = t.TempDir()
	x := newTables(&c, slog.New(slog.DiscardHandler), newShortage(slog.New(slog.DiscardHandler), time.Now), "test")
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 60 { // ten minutes, of which the incident has the sixth
		at := began.Add(time.Duration(i) * 10 * time.Second)
		r := sample.NewRecorder(at)
		r.At(at.Add(10 * time.Second))
		r.PutProcess(7, sample.Process{Comm: proctest.WorkerName})
		r.Put(sample.ProcReadBytes, sample.Entity{PID: 7}, float64(i), "")
		x.take(r.Window(at.Add(10 * time.Second)))
	}
	if err := x.write(); err != nil {
		t.Fatal(err)
	}
	w := newWatcher(host.Live(), &c, slog.New(slog.DiscardHandler), nil, "test")
	w.open = &openIncident{}
	w.open.Meta.What = sample.Incident{Start: began.Add(5 * time.Minute), End: began.Add(6 * time.Minute)}
	for range 2 { // once more does not add it twice
		w.save(w.open)
		w.keeper.work(false)
	}
	again, err := incidents.Load(w.dir(), 1)
	if err != nil || len(again.Sections) != 1 || again.Sections[0].Name != SectionTop {
		t.Fatal(again, err)
	}
	data := again.Sections[0].Data
	r, err := recording.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 24; ; i++ { // from a minute before on
		one, err := r.Next()
		if err == io.EOF {
			if i != 37 {
				t.Errorf("the last is %d", i-1)
			}
			if _, ok := r.End(); !ok {
				t.Error("the evidence was not ended in order")
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := one.Window.Sum(sample.ProcReadBytes, sample.Entity{PID: 7}); v != float64(i) || one.Window.Processes[7].Comm != proctest.WorkerName {
			t.Errorf("%v of %q, want %d", v, one.Window.Processes[7].Comm, i)
		}
	}
}
