package cmd

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

// 37 waits for a mutex, in code without frame pointers, below three functions
// of the program: all of them with their callers.
func TestOffCPUWithoutFramePointers(t *testing.T) {
	needProbes(t)
	name := filepath.Join(t.TempDir(), "mutex")
	if out, err := exec.Command(needTool(t, "gcc"), "-O2", "-fomit-frame-pointer", "-pthread", "-o", name, "testdata/mutex.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := exec.Command(name)
	said := &stream{}
	program.Stdout = said
	to, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	}()
	waitFor(t, said, "ready")
	c, out, notes := launch(t, "offcpu", "--pid", strconv.Itoa(program.Process.Pid), "--state", "all", "--min", "0", "--duration", "20s", "--format", "json", "--top", "0")
	attached(t, c.Process.Pid)
	if _, err := io.WriteString(to, "x"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, said, "done")
	_ = c.Process.Signal(syscall.SIGINT)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, notes)
	}
	var got struct {
		Stacks struct {
			Rows []stackRow `json:"rows"`
		} `json:"stacks"`
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
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
	if !strings.Contains(out.String(), " < main < __libc_start_call_main") {
		t.Errorf("%s", out)
	}
}
