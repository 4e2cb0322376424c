package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/pid"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

// worker makes the test binary write and read known amounts, past the cache, of
// the file that it names; on every line of standard input once more.
const worker = "IOCAUSE_TEST_TABLES_WORKER"

const (
	workerName    = "\x1b[2J\n\xff\u202ex\t(" // 15 bytes at most
	workerWritten = 37 * 4096
	workerRead    = 23 * 4096
)

func TestMain(m *testing.M) {
	if name := os.Getenv(worker); name != "" {
		if err := work(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func work(name string) error {
	runtime.LockOSThread()
	// The name of the process is that of its first thread.
	if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", os.Getpid()), []byte(workerName), 0); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	buf, err := syscall.Mmap(-1, 0, workerWritten, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if _, err := f.WriteAt(buf, 0); err != nil {
			return err
		}
		if _, err := f.ReadAt(buf[:workerRead], 0); err != nil {
			return err
		}
		fmt.Println("done")
	}
	return in.Err()
}

// working is a process that works when it is told to.
type working struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startWorker(t *testing.T, file string) *working {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &working{Cmd: exec.Command(self)}
	w.Env = append(os.Environ(), worker+"="+file)
	w.Stderr = os.Stderr
	if w.in, err = w.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	w.says(t, "ready")
	t.Cleanup(func() {
		w.in.Close()
		w.Wait()
	})
	return w
}

func (w *working) says(t *testing.T, want string) {
	t.Helper()
	if got, err := w.out.ReadString('\n'); err != nil || strings.TrimSpace(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
}

func (w *working) work(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w.in, "\n"); err != nil {
		t.Fatal(err)
	}
	w.says(t, "done")
}

// counted is what the kernel has counted of it.
func (w *working) counted(t *testing.T) pid.IO {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", w.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	x, err := pid.ParseIO(b)
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
	scratch, err := os.MkdirTemp("/var/tmp", "iocause-test-") // /tmp may be in memory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(scratch) })
	file := filepath.Join(scratch, "file")
	if err := os.WriteFile(file, make([]byte, workerWritten), 0o600); err != nil {
		t.Fatal(err)
	}
	w := startWorker(t, file)
	before := w.counted(t)
	dir := filepath.Join(t.TempDir(), "rec")
	c := quickConfig(dir)
	c.Tables.Interval, c.Tables.Rows = time.Second, mostRows
	a := start(t, c)
	until(t, "a first table", func() bool { _, _, _, _, n := kept(t, dir, 0); return n > 0 })
	const rounds = 7
	for range rounds {
		w.work(t)
		time.Sleep(170 * time.Millisecond) // so that they fall into several intervals
	}
	after := w.counted(t)
	// What it writes also makes pages of the file system's own dirty.
	wantRead, wantWritten := float64(after.ReadBytes-before.ReadBytes), float64(after.WriteBytes-before.WriteBytes)
	if wantRead != rounds*workerRead || wantWritten < rounds*workerWritten || wantWritten > 1.5*rounds*workerWritten {
		t.Fatalf("the kernel counted %v bytes read and %v written", wantRead, wantWritten)
	}
	until(t, "all bytes", func() bool {
		read, written, _, _, _ := kept(t, dir, w.Process.Pid)
		return read >= wantRead && written >= wantWritten
	})
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	read, written, names, starts, _ := kept(t, dir, w.Process.Pid)
	if read != wantRead || written != wantWritten {
		t.Errorf("%.0f bytes read and %.0f written, want %.0f and %.0f", read, written, wantRead, wantWritten)
	}
	if len(starts) != 1 || len(names) != 1 || !names[workerName] {
		t.Errorf("names %v, starts %v", names, starts)
	}
	if strings.Contains(a.log.String(), "ERROR") {
		t.Error(a.log)
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
	x := newTables(&c, slog.New(slog.DiscardHandler), "test")
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
	x := newTables(&c, slog.New(slog.DiscardHandler), "test")
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 60 { // ten minutes, of which the incident has the sixth
		at := began.Add(time.Duration(i) * 10 * time.Second)
		r := sample.NewRecorder(at)
		r.At(at.Add(10 * time.Second))
		r.PutProcess(7, sample.Process{Comm: workerName})
		r.Put(sample.ProcReadBytes, sample.Entity{PID: 7}, float64(i), "")
		x.take(r.Window(at.Add(10 * time.Second)))
	}
	if err := x.write(); err != nil {
		t.Fatal(err)
	}
	w := newWatcher(host.Live(), &c, slog.New(slog.DiscardHandler), nil, "test")
	w.open = &incidents.Incident{Meta: incidents.Meta{What: sample.Incident{Start: began.Add(5 * time.Minute), End: began.Add(6 * time.Minute)}}}
	w.save()
	w.save() // once more does not add it twice
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
		if v, _ := one.Window.Sum(sample.ProcReadBytes, sample.Entity{PID: 7}); v != float64(i) || one.Window.Processes[7].Comm != workerName {
			t.Errorf("%v of %q, want %d", v, one.Window.Processes[7].Comm, i)
		}
	}
}
