package cli

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/source/probe/threads"
)

// attached waits until another iocause has attached its programs.
func attached(t *testing.T, pid int) {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		links := 0
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.Contains(to, "bpf_link") {
				links++
			}
		}
		if links >= 5 {
			time.Sleep(300 * time.Millisecond) // the window begins
			return
		}
	}
	t.Fatal("iocause did not attach its programs")
}

// mutexWaiter starts a program without frame pointers. run has it wait
// for a mutex 37 times, below three functions of known names.
func mutexWaiter(t *testing.T) (pid int, run func()) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mutex")
	if out, err := exec.Command(needTool(t, "gcc"), "-O2", "-fomit-frame-pointer", "-pthread", "-o", name, "testdata/mutex.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := exec.Command(name)
	said := &require.Output{}
	program.Stdout = said
	to, err := program.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	waitFor(t, said, "ready")
	return program.Process.Pid, func() {
		t.Helper()
		if _, err := io.WriteString(to, "x"); err != nil {
			t.Fatal(err)
		}
		waitFor(t, said, "done")
	}
}

// seenBy runs the command line, and what it is to see; into is what it printed.
func seenBy(t *testing.T, run func(), into any, args ...string) (out string) {
	t.Helper()
	c, said, notes := launch(t, args...)
	attached(t, c.Process.Pid)
	run()
	_ = c.Process.Signal(syscall.SIGINT)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, notes)
	}
	require.NoError(t, json.Unmarshal([]byte(said.String()), into))
	return said.String()
}

// 37 waits for a mutex: all of them with their callers.
func TestOffCPUWithoutFramePointers(t *testing.T) {
	needProbes(t)
	pid, run := mutexWaiter(t)
	var got struct {
		Stacks struct {
			Rows []stackRow `json:"rows"`
		} `json:"stacks"`
	}
	out := seenBy(t, run, &got, "offcpu", "--pid", strconv.Itoa(pid), "--state", "all", "--min", "0", "--duration", "20s", "--format", "json", "--top", "0")
	waits, seconds := 0.0, 0.0
	for _, r := range got.Stacks.Rows {
		if !strings.Contains(r.Stack, "innermost_holder") || r.State != "mutex" {
			continue
		}
		waits += r.Waits
		seconds += r.Time
		if !strings.Contains(r.Stack, "< innermost_holder < middle_function < outer_function < waiter < ") || strings.Contains(r.Stack, "[") {
			t.Errorf("%g waits in %s", r.Waits, r.Stack)
		}
	}
	if waits != 37 || seconds < 37*0.005 {
		t.Errorf("%g waits for the mutex, %g s in all, want 37 of 6 ms or more:\n%s", waits, seconds, out)
	}
	if !strings.Contains(out, " < main < __libc_start_call_main") {
		t.Errorf("%s", out)
	}
}

// The slowest calls of the same program: every one with its callers.
func TestLatencyWithoutFramePointers(t *testing.T) {
	needProbes(t)
	pid, run := mutexWaiter(t)
	var got struct {
		Slowest struct {
			Rows []struct {
				Wall  float64 `json:"wall_s"`
				Stack string  `json:"stack"`
			} `json:"rows"`
		} `json:"slowest"`
	}
	out := seenBy(t, run, &got, "latency", "60", "1", "--pid", strconv.Itoa(pid), "--syscall", "futex", "--slow", "1ms", "--format", "json")
	if len(got.Slowest.Rows) != threads.Kept {
		t.Errorf("%d slow calls, want %d: %s", len(got.Slowest.Rows), threads.Kept, out)
	}
	for _, r := range got.Slowest.Rows {
		isLock := strings.Contains(r.Stack, "pthread_mutex_lock < innermost_holder < middle_function < outer_function < waiter < start_thread < clone3")
		// on a busy machine either may be slow to come to the barrier
		isBarrier := strings.Contains(r.Stack, "pthread_barrier_wait < waiter < start_thread < clone3")
		isMain := strings.Contains(r.Stack, " < main < __libc_start_call_main") // the barrier, or the thread's end
		if !isLock && !isBarrier && !isMain || strings.Contains(r.Stack, "[stack") {
			t.Errorf("%g s in %s", r.Wall, r.Stack)
		}
	}
}
