package pid

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

func TestClassOfCall(t *testing.T) {
	for line, want := range map[string]string{
		"0 0x3 0x7f 0x1000 0x0 0x0 0x0 0x7ffc 0x7f": "read",
		"74 0x3 0x0":   "sync",
		"18 0x3":       "write",
		"-1 0x7f 0x7f": "fault",
		"running":      "other",
		"":             "other",
		"426 0x1":      "other",
	} {
		if got := classOfCall([]byte(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestClassOfFunctions(t *testing.T) {
	for name, want := range map[string]struct {
		class string
		known bool
	}{
		"balance_dirty_pages":      {"pause", true},
		"rwsem_down_read_slowpath": {"", true},
		"__mutex_lock.constprop.0": {"", true},
		"folio_wait_bit_common":    {"", false},
		"[<0>] folio_wait_bit_common+0x13d/0x350\n[<0>] folio_wait_writeback+0x28/0x80\n[<0>] __filemap_fdatawait_range+0x70\n[<0>] ext4_sync_file+0x1/0x2\n": {"sync", true},
		"[<0>] folio_wait_bit_common+0x13d/0x350\n[<0>] filemap_get_pages+0x5d4\n[<0>] filemap_read+0xf6\n":                                                   {"", false},
		"jbd2_log_wait_commit": {"sync", true},
		"0":                    {"", false},
	} {
		if class, known := classOfFunctions(name); class != want.class || known != want.known {
			t.Errorf("%s: %q %v", name, class, known)
		}
	}
}

// A program that syncs all the time is found in state D, in a sync, for about as
// long as it says itself that its calls take.
func TestWaitsAreSampled(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "waits")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := OpenWaits(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cmd := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "f"), "bs=4k", "count=1000000", "oflag=sync")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	began := time.Now()
	rec := sample.NewRecorder(began)
	if err := s.Collect(sample.First, rec); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	rec.At(time.Now())
	if err := s.Collect(sample.Last, rec); err != nil {
		t.Fatal(err)
	}
	w := rec.Window(time.Now())
	snapshots, ok := w.Value(sample.WaitSnapshots, sample.Entity{})
	if !ok || snapshots < 5 {
		t.Errorf("%g snapshots a second", snapshots)
	}
	pid := cmd.Process.Pid
	var all float64
	for _, class := range []string{"read", "write", "sync", "fault", "other"} {
		v, _ := w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: class})
		all += v
	}
	write, _ := w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: "write"})
	sync, _ := w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: "sync"})
	// a stack that is read after the thread went on says nothing: the busier the machine, the more
	if all < 0.2 || write+sync < 0.6*all || all > 3.5 {
		t.Errorf("waited %g s, of that %g s in writes and %g s in syncs; dd with oflag=sync does little else for 3 s", all, write, sync)
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/stack", pid)); err == nil && sync < write {
		t.Errorf("waited %g s, of that in syncs %g s, although the stacks tell", all, sync)
	}
	if p := w.Processes[pid]; p.Comm != "dd" || p.Kernel {
		t.Errorf("process %+v", p)
	}
	if _, ok := w.Sum(sample.WaitIO, sample.Entity{}); !ok {
		t.Error("that nobody else waits is not said")
	}
}

// Who fills the memory may do nothing in the window.
func TestIdleHogIsListed(t *testing.T) {
	_, err := exec.LookPath("python3")
	bpftest.Need(t, "python3", err)
	cmd := exec.Command("python3", "-c", "import time; x = b'x' * (100 << 20); print(1, flush=True); time.sleep(60)")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	s, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rec := sample.NewRecorder(time.Now())
	if err := s.Collect(sample.First, rec); err != nil {
		t.Fatal(err)
	}
	if err := s.Collect(sample.Last, rec); err != nil {
		t.Log(err) // of another process
	}
	w := rec.Window(time.Now())
	if held, ok := w.Value(sample.ProcRSS, sample.Entity{PID: cmd.Process.Pid}); !ok || held < 100<<20 {
		t.Errorf("resident memory %g, %v", held, ok)
	}
	if p := w.Processes[cmd.Process.Pid]; p.Comm != "python3" {
		t.Errorf("process %+v", p)
	}
}
