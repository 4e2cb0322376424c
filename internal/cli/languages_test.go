package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
)

// stackRow is a row of the table of stacks.
type stackRow struct {
	State   string  `json:"state"`
	Time    float64 `json:"time_s"`
	Waits   float64 `json:"waits"`
	Samples float64 `json:"samples"`
	Stack   string  `json:"stack"` // innermost function first
}

func (r *stackRow) holds(parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(r.Stack, p) {
			return false
		}
	}
	return true
}

// isWhole tells a stack without the remark that some of it is missing.
func (r *stackRow) isWhole() bool {
	return !strings.Contains(r.Stack, "[stack") && !strings.Contains(r.Stack, "[no user")
}

// stackRowsOf are the stacks that the program saw of a process.
func stackRowsOf(t *testing.T, pid int, args ...string) (rows []stackRow, notes string) {
	t.Helper()
	code, out, notes := run{args: append(args, "--pid", strconv.Itoa(pid), "--format", "json", "--top", "0")}.do(t)
	if code != 0 {
		t.Fatalf("%v: code %d: %s", args, code, notes)
	}
	var got struct {
		Stacks struct {
			Rows []stackRow `json:"rows"`
		} `json:"stacks"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got.Stacks.Rows, notes + out
}

// tries is how often a program is looked at for what it does all the time: on a
// busy machine it may not get to run, nor a stack find room.
const tries = 8

// seen looks at a process until every one of the wanted places was met in a
// stack. All stacks of a place are then to be whole, and to hold what is given
// with it.
func seen(t *testing.T, pid int, want map[string]string, args ...string) {
	t.Helper()
	missing := map[string]bool{}
	for place := range want {
		missing[place] = true
	}
	for try := 1; len(missing) > 0; try++ {
		rows, all := stackRowsOf(t, pid, args...)
		if try == tries {
			t.Fatalf("no stack with %v in %d looks: %s", missing, tries, all)
		}
		if strings.Contains(all, "by frame pointers only, because the copy buffer") {
			continue
		}
		for i := range rows {
			for place, holds := range want {
				if !rows[i].holds(place) {
					continue
				}
				delete(missing, place)
				if !rows[i].isWhole() || !rows[i].holds(holds) {
					t.Errorf("%s, %g s: %s\nis not whole or lacks %q", rows[i].State, rows[i].Time, rows[i].Stack, holds)
				}
			}
		}
	}
}

// untilReady starts a program that says when it is ready.
func untilReady(t *testing.T, command ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	said := &require.Output{}
	c.Stdout, c.Stderr, c.Dir = said, said, t.TempDir() // where it may leave what it likes
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = os.Remove("/tmp/perf-" + strconv.Itoa(c.Process.Pid) + ".map")
	})
	waitFor(t, said, "ready")
	return c
}

// script is the path of a file of the tests.
func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}

// needTool is the path of a program that the test needs.
func needTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	bpftest.Need(t, name, err)
	return path
}

// Samples of code without frame pointers, in the program and in system calls
// of the C library, have all their callers.
func TestOnCPUWithoutFramePointers(t *testing.T) {
	needProbes(t)
	name := filepath.Join(t.TempDir(), "busy")
	if out, err := exec.Command(needTool(t, "gcc"), "-O2", "-fomit-frame-pointer", "-pthread", "-o", name, "testdata/busy.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command(name)
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer func() {
		in.Close()
		_ = c.Wait()
	}()
	const callers = " < middle_function < outer_function < work < start_thread < clone3"
	seen(t, c.Process.Pid, map[string]string{"innermost_loop": "innermost_loop" + callers, "innermost_read": "innermost_read" + callers, "vfs_read": "read < innermost_read" + callers},
		"oncpu", "--hz", "199", "--duration", "500ms")
}

// A Java program's waits, for the disk and for a monitor, are named from the
// kernel's functions through the JVM's, compiled and interpreted code to where
// its threads began.
func TestStacksOfJava(t *testing.T) {
	needProbes(t)
	javac, java, jcmd := needTool(t, "javac"), needTool(t, "java"), needTool(t, "jcmd")
	dir := filepath.Dir(bpftest.File(t, 1))
	if out, err := exec.Command(javac, "-d", dir, "testdata/Waits.java").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := untilReady(t, java, "-XX:+PreserveFramePointer", "-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:CompileCommand=quiet",
		"-XX:CompileCommand=compileonly,Waits*::*", "-XX:CompileCommand=dontinline,Waits*::*", "-cp", dir, "Waits", filepath.Join(dir, "data"))
	out, err := exec.Command(jcmd, strconv.Itoa(c.Process.Pid), "Compiler.perfmap").CombinedOutput()
	if strings.Contains(string(out), "Unknown diagnostic command") {
		t.Skip("the JVM is older than 17: it does not write its map")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen(t, c.Process.Pid, map[string]string{
		" < fsync < ":                    "void Waits.commitRecord() < ",
		"void Waits.commitRecord() < ":   " < start_thread < clone3",
		"void Waits.waitForMonitor() < ": " < ObjectMonitor::enter < ",
		" < ObjectMonitor::enter < ":     " < start_thread < clone3",
		" < JVM_Sleep < ":                "void Waits.holdMonitor() < ",
	}, "offcpu", "--state", "disk,filesystem,futex,mutex", "--duration", "500ms")
}

// Python is built without frame pointers; its stacks are whole all the same,
// waiting and running.
func TestStacksOfPython(t *testing.T) {
	needProbes(t)
	c := untilReady(t, needTool(t, "python3"), script(t, "commit.py"), bpftest.File(t, 1))
	seen(t, c.Process.Pid, map[string]string{" < fsync < ": " < __libc_start_call_main < "}, "offcpu", "--state", "disk,filesystem", "--min", "0", "--duration", "500ms")
	seen(t, c.Process.Pid, map[string]string{" < ": " < __libc_start_call_main < "}, "oncpu", "--hz", "199", "--duration", "500ms")
}

// Code that Node.js compiled, or has not yet, lies between functions of its own
// without frame pointers.
func TestStacksOfNode(t *testing.T) {
	needProbes(t)
	c := untilReady(t, needTool(t, "node"), "--perf-basic-prof", "--interpreted-frames-native-stack", script(t, "commit.js"), bpftest.File(t, 1))
	seen(t, c.Process.Pid, map[string]string{" < fsync < ": "commitRecord "}, "offcpu", "--state", "disk,filesystem", "--min", "0", "--duration", "500ms")
}
