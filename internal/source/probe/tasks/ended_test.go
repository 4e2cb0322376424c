package tasks

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Each of a known number of short processes is told, with the processor time that
// its own account gives, also beyond a sweep within the window, and of one that
// lived before only what it did since.
func TestEndedProcesses(t *testing.T) {
	p, err := OpenEnded(host.Live())
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	const compute = `n=0; while [ $n -lt 20000 ]; do n=$((n+1)); done`
	older := exec.Command("/bin/sh", "-c", "read line; "+compute)
	hold, err := older.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Start(); err != nil {
		t.Fatal(err)
	}
	before := startedUp(t, older.Process.Pid)
	stolen := bpftest.Stolen(t)
	r := sample.NewRecorder(time.Now())
	bpftest.Collect(t, p, sample.First, r)
	want := map[int]time.Duration{}
	run := func(n int) {
		for range n {
			c := exec.Command("/bin/sh", "-c", compute)
			if err := c.Run(); err != nil {
				t.Fatal(err)
			}
			want[c.Process.Pid] = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}
	}
	run(13)
	bpftest.Collect(t, p, sample.Tick, r)
	run(10)
	hold.Close()
	if err := older.Wait(); err != nil {
		t.Fatal(err)
	}
	want[older.Process.Pid] = older.ProcessState.UserTime() + older.ProcessState.SystemTime() - before
	told := func() bool {
		for pid := range want {
			if g := p.gone[uint32(pid)]; g == nil || !g.leader {
				return false
			}
		}
		return true
	}
	// They are freed when all processors have passed a quiet state, which a busy host
	// delays.
	for began := time.Now(); !told() && time.Since(began) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		bpftest.Collect(t, p, sample.Tick, r)
	}
	bpftest.Collect(t, p, sample.Last, r)
	w := r.Window(time.Now())
	slack := bpftest.Stolen(t) - stolen
	for pid, used := range want {
		e := sample.Entity{PID: pid}
		user, ok := w.Sum(sample.ProcUser, e)
		system, _ := w.Sum(sample.ProcSystem, e)
		delay, queued := w.Sum(sample.ProcRunDelay, e)
		got := time.Duration((user + system) * 1e9)
		if !ok || !queued || delay < 0 || w.Processes[pid].Comm != "sh" {
			t.Errorf("process %d (%q) is not told whole", pid, w.Processes[pid].Comm)
		}
		// The account of a process ends a little earlier than the scheduler's, and what a
		// hypervisor takes is in one of them.
		if got < used-used/50-time.Millisecond-slack || got > used+used/20+3*time.Millisecond+slack {
			t.Errorf("process %d ran for %v, its own account says %v", pid, got, used)
		}
	}
}

// startedUp waits until a process sleeps, and is how long it has run by then.
func startedUp(t *testing.T, pid int) time.Duration {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for !strings.Contains(read("stat"), ") S ") {
		time.Sleep(10 * time.Millisecond)
	}
	var ran time.Duration
	if _, err := fmt.Sscan(read("schedstat"), &ran); err != nil { // in ns
		t.Fatal(err)
	}
	return ran
}
