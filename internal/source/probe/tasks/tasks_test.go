package tasks

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// workThreads is how many threads of a worker work, one after the other.
const workThreads = 5

func TestMain(m *testing.M) { proctest.Main(m) }

// figures are what /proc counts of a process: by metric, ticks for times.
func figures(pid int) (map[sample.Metric]uint64, error) {
	out := map[sample.Metric]uint64{}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		m := map[string]sample.Metric{"rchar": sample.ProcReadChars, "wchar": sample.ProcWriteChars,
			"read_bytes": sample.ProcReadBytes, "write_bytes": sample.ProcWriteBytes}[key]
		if m == "" {
			continue
		}
		if out[m], err = strconv.ParseUint(value, 10, 64); err != nil {
			return nil, err
		}
	}
	if b, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil {
		return nil, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	for m, i := range map[sample.Metric]int{sample.ProcMajorFault: 9, sample.ProcUser: 11, sample.ProcSystem: 12} {
		if out[m], err = strconv.ParseUint(f[i], 10, 64); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// counted are the metrics of figures that count, not time.
func counted() []sample.Metric {
	return []sample.Metric{sample.ProcReadChars, sample.ProcWriteChars, sample.ProcReadBytes, sample.ProcWriteBytes, sample.ProcMajorFault}
}

func of(r *tasksRow, m sample.Metric) uint64 {
	switch m {
	case sample.ProcReadChars:
		return r.ReadChars
	case sample.ProcWriteChars:
		return r.WriteChars
	case sample.ProcReadBytes:
		return r.ReadBytes
	case sample.ProcWriteBytes:
		return r.WriteBytes
	case sample.ProcMajorFault:
		return r.MajorFaults
	}
	panic(m)
}

func open(t *testing.T) *Probe {
	t.Helper()
	s, err := Open(host.Live())
	bpftest.Need(t, "bpf", err)
	t.Cleanup(func() { s.Close() })
	return s.(*Probe)
}

// What the pass counts of every process on the machine lies between what
// /proc/PID/io and stat say before and after it.
func TestAllProcessesAreAsInProc(t *testing.T) {
	p := open(t)
	var wrong []string
	for range 10 { // a thread that ends in between makes a figure wrong for one pass
		dirs, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			t.Fatal(err)
		}
		before := map[int]map[sample.Metric]uint64{}
		for _, dir := range dirs {
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
				if before[pid], err = figures(pid); err != nil {
					delete(before, pid) // it ended
				}
			}
		}
		rows, _, err := p.look()
		if err != nil {
			t.Fatal(err)
		}
		sum(rows, nil, 0, nil)
		wrong = wrong[:0]
		known := 0
		for pid, was := range before {
			now, err := figures(pid)
			if err != nil {
				continue
			}
			i := find(rows, uint32(pid))
			if i < 0 {
				wrong = append(wrong, fmt.Sprintf("process %d is missing", pid))
				continue
			}
			known++
			for _, m := range counted() {
				if got := of(&rows[i], m); got < was[m] || got > now[m] {
					wrong = append(wrong, fmt.Sprintf("process %d: %s is %d, and /proc has %d and then %d", pid, m, got, was[m], now[m]))
				}
			}
		}
		if known < 5 {
			t.Fatalf("only %d processes could be compared", known)
		}
		if len(wrong) == 0 {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}

// What a process reads and writes in threads that end is counted to the byte,
// and its processor time as /proc/PID/stat has it.
func TestKnownWork(t *testing.T) {
	p := open(t)
	c := proctest.StartWorker(t, bpftest.File(t, proctest.WorkerWritten/4096), workThreads)
	pid := c.PID
	look := func() map[sample.Metric]uint64 {
		t.Helper()
		f, err := figures(pid)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	at := time.Now()
	r := sample.NewRecorder(at)
	collect := func(phase sample.Phase) {
		t.Helper()
		r.At(time.Now())
		bpftest.Collect(t, p, phase, r)
	}
	first := look()
	collect(sample.First)
	const rounds = 3
	sums := map[sample.Metric]float64{}
	for range rounds {
		c.Work(t)
		collect(sample.IntervalEnd)
		w := r.NextWindow(time.Now())
		for _, m := range Metrics() {
			v, _ := w.Sum(m, sample.Entity{PID: pid})
			if v < 0 {
				t.Errorf("%s is %g", m, v)
			}
			sums[m] += v
		}
		who := w.Processes[pid]
		if who.Comm != proctest.WorkerName || who.Kernel || who.Start <= 0 || who.IOCgroup == "" && hasCgroups(t) {
			t.Errorf("%+v, called %q", who, who.Comm)
		}
	}
	last := look()
	for _, m := range counted() {
		if m == sample.ProcReadChars || m == sample.ProcWriteChars {
			continue // its runtime may write to itself before the first and after the last pass
		}
		if want := float64(last[m] - first[m]); sums[m] != want {
			t.Errorf("%s: %g, and /proc has %g", m, sums[m], want)
		}
	}
	if got, want := sums[sample.ProcReadBytes], float64(rounds*workThreads*proctest.WorkerRead); got != want {
		t.Errorf("%g bytes read, want %g", got, want)
	}
	if got, want := sums[sample.ProcWriteBytes], float64(rounds*workThreads*proctest.WorkerWritten); got < want || got > 1.5*want {
		t.Errorf("%g bytes written, want %g and a little of the file system's own", got, want)
	}
	for _, m := range []sample.Metric{sample.ProcReadChars, sample.ProcWriteChars} {
		if got, most := sums[m], float64(last[m]-first[m]); got < rounds*workThreads*proctest.WorkerRead || got > most {
			t.Errorf("%s: %g, and /proc has %g", m, got, most)
		}
	}
	// Ticks are cut off at both ends, of both parts.
	ticks := float64(last[sample.ProcUser] + last[sample.ProcSystem] - first[sample.ProcUser] - first[sample.ProcSystem])
	if got := (sums[sample.ProcUser] + sums[sample.ProcSystem]) * host.TickHz; got < ticks-4 || got > ticks+4 {
		t.Errorf("%g ticks of processor time, and /proc has %g", got, ticks)
	}
}

func hasCgroups(t *testing.T) bool {
	t.Helper()
	groups, err := host.Live().Cgroups()
	if err != nil {
		return false
	}
	_, ok := groups.Controller("blkio", "io")
	return ok
}

func TestChildrenThatEnd(t *testing.T) {
	open(t) // skips where there is no BPF
	proctest.ChildrenThatEnd(t, Open, host.Live())
}

// The number that we have in a container is that of another process on the host, by
// chance or always where numbers are low.
func TestOwnNameIsOurs(t *testing.T) {
	h := host.Live()
	s, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer s.Close()
	rows, _, err := s.(*Probe).look()
	if err != nil {
		t.Fatal(err)
	}
	if err := ownName(h, rows); err != nil {
		t.Fatal(err)
	}
	rows[find(rows, uint32(h.Self))].Start += uint64(time.Second)
	if err := ownName(h, rows); err == nil {
		t.Error("another process with our number passed for us")
	}
}
