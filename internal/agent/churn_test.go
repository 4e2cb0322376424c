package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/probe/tasks"
	"iocause/internal/source/proc/proctest"
	"iocause/internal/store/recording"
)

// startWorkerAs starts a worker that has the number of a process that ended.
func startWorkerAs(t *testing.T, file string, id int) *proctest.Worker {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		// The next process gets the next number, if no other program is faster.
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(id-1)), 0); err != nil {
			bpftest.Need(t, "bpf", fmt.Errorf("choosing the number of a process: %w", err))
		}
		c := exec.Command("/bin/sleep", "60")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		got := c.Process.Pid
		c.Process.Kill()
		c.Wait()
		if got != id {
			continue
		}
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(id-1)), 0); err != nil {
			t.Fatal(err)
		}
		if w := proctest.StartWorker(t, file, 1); w.PID == id {
			return w
		}
	}
	t.Fatalf("the number %d was not to be had: other programs start too many processes", id)
	return nil
}

// A process whose number another one had before has its own figures from its
// beginning on, and nothing of the other's: neither what that did, nor less
// than nothing. The same for both ways to read processes.
func TestNumberIsUsedAgain(t *testing.T) {
	machine(t, "root", "bpf")
	file := bpftest.File(t, proctest.WorkerWritten/4096)
	for name, live := range map[string]bool{"kernel program": true, "proc": false} {
		t.Run(name, func(t *testing.T) {
			h := host.Live()
			h.IsLive = live
			log := &require.Output{}
			s, err := openProcesses(h, slog.New(slog.NewTextHandler(log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if from := map[bool]string{true: "from=" + tasks.From, false: "from=/proc/PID"}[live]; !strings.Contains(log.String(), from) {
				t.Fatalf("not %s: %s", from, log)
			}
			r := sample.NewRecorder(time.Now())
			observe := func(phase sample.Phase) *sample.Window {
				t.Helper()
				r.At(time.Now())
				if err := s.Collect(phase, r); err != nil {
					t.Fatal(err)
				}
				return r.NextWindow(time.Now())
			}
			old := proctest.StartWorker(t, file, 1)
			id := old.PID
			observe(sample.First)
			for range 5 {
				old.Work(t)
			}
			w := observe(sample.IntervalEnd)
			was := w.Processes[id]
			if n, _ := w.Sum(sample.ProcReadBytes, sample.Entity{PID: id}); n < 5*proctest.WorkerRead {
				t.Fatalf("%g bytes read", n)
			}
			old.End()
			again := startWorkerAs(t, file, id)
			again.Work(t)
			before := counted(t, again)
			w = observe(sample.IntervalEnd)
			after := counted(t, again)
			for m, most := range map[sample.Metric][2]uint64{
				sample.ProcReadBytes: {before.ReadBytes, after.ReadBytes}, sample.ProcWriteBytes: {before.WriteBytes, after.WriteBytes},
				sample.ProcReadChars: {before.ReadChars, after.ReadChars}, sample.ProcWriteChars: {before.WriteChars, after.WriteChars},
			} {
				if got, ok := w.Sum(m, sample.Entity{PID: id}); !ok || got < float64(most[0]) || got > float64(most[1]) {
					t.Errorf("%s: %g, want %d to %d", m, got, most[0], most[1])
				}
			}
			for _, m := range processFigures() {
				if got, _ := w.Sum(m, sample.Entity{PID: id}); got < 0 {
					t.Errorf("%s: %g", m, got)
				}
			}
			if is := w.Processes[id]; is.Start <= was.Start || is.Comm != proctest.WorkerName {
				t.Errorf("%+v after %+v", is, was)
			}
			for _, g := range w.Gaps {
				if strings.Contains(g.Why, " fell") {
					t.Errorf("%+v", g)
				}
			}
		})
	}
}

// While hundreds of cgroups come and go, with processes in some of them, the
// tables go on: what one that stays did is there to the byte, and nothing did
// more than it could.
func TestCgroupsComeAndGo(t *testing.T) {
	machine(t, "root", "blkio")
	groups, err := host.Live().Cgroups()
	if err != nil {
		t.Fatal(err)
	}
	tree, ok := groups.Controller("blkio", "io")
	if !ok {
		t.Fatal("no controller of block I/O")
	}
	top := filepath.Join(tree.Dir, fmt.Sprintf("iocause-test-churn-%d", os.Getpid()))
	join := func(dir string, pid int) {
		t.Helper()
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
	// A process that ended may be in its cgroup for a moment more.
	remove := func(dir string) {
		t.Helper()
		until(t, "an empty cgroup", func() bool {
			err := os.Remove(dir)
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
	}
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	stays := filepath.Join(top, "stays")
	t.Cleanup(func() { remove(top) })
	t.Cleanup(func() { remove(stays) })
	file := bpftest.File(t, proctest.WorkerWritten/4096)
	w := proctest.StartWorker(t, file, 1) // ends before its cgroup goes
	join(stays, w.PID)
	guests := proctest.StartWorker(t, file, 1)

	c := quickConfig(filepath.Join(t.TempDir(), "rec"))
	c.Tables.Interval, c.Tables.Rows = time.Second, mostRows
	a := start(t, c)
	until(t, "a first table", func() bool { _, _, _, _, n := kept(t, c.Dir, 0); return n > 0 })
	before, guestBefore := counted(t, w), counted(t, guests)
	const rounds, each = 6, 60
	for round := range rounds {
		for i := range each {
			// Every other one has a name that was used before.
			dir := filepath.Join(top, fmt.Sprintf("c%d", i))
			if i%2 == 0 {
				dir = filepath.Join(top, fmt.Sprintf("c%d-%d", round, i))
			}
			if i%20 == 0 {
				join(dir, guests.PID)
				guests.Work(t)
				join(top, guests.PID)
			} else if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if i%7 == 0 { // so that some live through the end of a table
				time.Sleep(20 * time.Millisecond)
			}
			remove(dir)
		}
		w.Work(t)
	}
	after, guestAfter := counted(t, w), counted(t, guests)
	join(tree.Dir, guests.PID)
	want := float64(after.ReadBytes - before.ReadBytes)
	if want != rounds*proctest.WorkerRead {
		t.Fatalf("the kernel counted %g bytes read", want)
	}
	until(t, "all bytes", func() bool { read, _, _, _, _ := kept(t, c.Dir, w.PID); return read >= want })
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if read, written, _, _, _ := kept(t, c.Dir, w.PID); read != want || written != float64(after.WriteBytes-before.WriteBytes) {
		t.Errorf("%g bytes read and %g written, want %g and %d", read, written, want, after.WriteBytes-before.WriteBytes)
	}
	path := tree.Path(stays)
	did := map[bool]float64{} // by the one that stays and the others
	if lost, err := recording.EachShelved(filepath.Join(c.Dir, TablesIn), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), func(r *recording.Record) error {
		if p, ok := r.Window.Processes[w.PID]; ok && p.IOCgroup != path {
			t.Errorf("the process that stays is in %q", p.IOCgroup)
		}
		if len(r.Window.Gaps) > 2*mostGaps {
			t.Errorf("%d gaps in a table", len(r.Window.Gaps))
		}
		r.Window.Each(sample.CgroupReadBytes, func(e sample.Entity, s *sample.Series) {
			if filepath.Dir(e.Cgroup) == tree.Path(top) {
				did[e.Cgroup == path] += s.Sum()
			}
			if s.Sum() < 0 {
				t.Errorf("%+v: %g", e, s.Sum())
			}
		})
		return nil
	}); err != nil || len(lost) > 0 {
		t.Error(lost, err)
	}
	// Cgroups count on devices that have had a limit only, from 6.9 on: none may.
	if did[true] > want || did[false] > float64(guestAfter.ReadBytes-guestBefore.ReadBytes) {
		t.Errorf("%v bytes read by cgroups, but %g and %d by the processes in them", did, want, guestAfter.ReadBytes-guestBefore.ReadBytes)
	}
	if strings.Contains(a.log.String(), "ERROR") || strings.Contains(a.log.String(), "cannot be read\" source="+busiestSource) {
		t.Error(a.log)
	}
}
