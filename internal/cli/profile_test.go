package cli

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
)

// hostileThread is a name that a thread may give itself.
const hostileThread = "\x1b[2J<b>;\n\xff"

// waitInAKnownFunction waits in a pipe until the program ends.
//
//go:noinline
func waitInAKnownFunction(fd int) {
	var b [1]byte
	_, _ = unix.Read(fd, b[:])
}

// waiter starts a thread of a hostile name that waits.
func waiter(t *testing.T) {
	t.Helper()
	var pipe [2]int
	require.NoError(t, unix.Pipe(pipe[:]))
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		name, err := unix.BytePtrFromString(hostileThread)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
		}
		if err != nil {
			t.Error(err)
		}
		close(ready)
		waitInAKnownFunction(pipe[0])
		close(ended)
	}()
	<-ready
	t.Cleanup(func() {
		unix.Close(pipe[1])
		<-ended
		unix.Close(pipe[0])
	})
}

// observeSelf runs the program on this very process.
func observeSelf(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	args = append(args, "--pid", strconv.Itoa(os.Getpid()), "--duration", "500ms")
	code, stdout, stderr = run{args: args}.do(t)
	if code == 1 && strings.Contains(stderr, refusal) {
		bpftest.Need(t, "bpf", context.Canceled)
	}
	return code, stdout, stderr
}

func TestOffCPUTable(t *testing.T) {
	waiter(t)
	code, out, notes := observeSelf(t, "offcpu", "--format", "json", "--top", "0", "--state", "ipc")
	if code != 0 {
		t.Fatalf("code %d: %s", code, notes)
	}
	var got struct {
		Stacks struct {
			Rows []struct {
				State   string  `json:"state"`
				Time    float64 `json:"time_s"`
				Waits   float64 `json:"waits"`
				Process string  `json:"process"`
				Stack   string  `json:"stack"`
			} `json:"rows"`
		} `json:"stacks"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	found := 0
	for _, r := range got.Stacks.Rows {
		if strings.Contains(r.Stack, "cli.waitInAKnownFunction") {
			found++
			if r.State != "ipc" || r.Waits != 1 || math.Abs(r.Time-0.5) > 0.1 {
				t.Errorf("%+v", r)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d rows of the function that waits: %s", found, out)
	}
}

func TestOffCPUForms(t *testing.T) {
	waiter(t)
	dir := t.TempDir()
	for end, holds := range map[string]string{
		".html": "cli.waitInAKnownFunction", ".svg": "cli.waitInAKnownFunction", ".folded": ";iocause/internal/cli.waitInAKnownFunction;", ".pb.gz": "",
	} {
		name := filepath.Join(dir, "waits"+end)
		code, out, notes := observeSelf(t, "offcpu", "--state", "all", "-o", name)
		if code != 0 || out != "" || !strings.Contains(notes, "wrote "+name) {
			t.Fatalf("%s: code %d, stdout %q, stderr %q", end, code, out, notes)
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if !strings.Contains(string(text), holds) {
			t.Errorf("%s lacks %q", end, holds)
		}
		if end == ".pb.gz" {
			top, err := exec.Command("go", "tool", "pprof", "-top", name).CombinedOutput()
			if err != nil || !strings.Contains(string(top), "iocause/internal/cli.waitInAKnownFunction") {
				t.Errorf("%v\n%s", err, top)
			}
		} else {
			harmless(t, strings.NewReplacer("\n", "", "\t", "").Replace(string(text)))
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("%d files, want 4 and no other: %v", len(left), err)
	}
	code, _, notes := run{args: []string{"flame", "diff", filepath.Join(dir, "waits.folded"), filepath.Join(dir, "waits.folded"), "-o", filepath.Join(dir, "d.html")}}.do(t)
	if code != 0 {
		t.Errorf("diff: %d, %s", code, notes)
	}
}

func TestOnCPU(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := uint64(0); ; n = runInAKnownFunction(n) {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	code, out, notes := observeSelf(t, "oncpu", "-o", "-", "--hz", "499")
	close(stop)
	<-stopped
	if code != 0 || !strings.Contains(out, ";iocause/internal/cli.runInAKnownFunction;[user] ") || !strings.Contains(notes, "samples at 499 Hz") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, notes)
	}
}

//go:noinline
func runInAKnownFunction(n uint64) uint64 {
	for i := range uint64(1 << 20) {
		n = n*31 + i
	}
	return n
}

func TestProfileNeedsPermission(t *testing.T) {
	bpftest.Root(t)
	for _, command := range []string{"offcpu", "oncpu"} {
		code, out, notes := run{args: []string{command, "--duration", "100ms"}, uid: 65534}.do(t)
		if code != 1 || out != "" || !strings.Contains(notes, refusal) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", command, code, out, notes)
		}
	}
}

// To find nobody is not to find that nobody waits.
func TestProfileOfNobody(t *testing.T) {
	bpftest.Root(t)
	code, out, notes := run{args: []string{"offcpu", "--comm", "no-such-name", "--duration", "200ms"}}.do(t)
	if code != 1 || out != "" || !strings.Contains(notes, `there is no process called "no-such-name", nor did one appear`) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, notes)
	}
}

// Ctrl-C ends the watching and still shows what was seen.
func TestProfileInterrupted(t *testing.T) {
	bpftest.Root(t)
	c, out, notes := launch(t, "offcpu", "--duration", "1h", "--format", "json")
	waitFor(t, notes, "observing")
	time.Sleep(500 * time.Millisecond)
	_ = c.Process.Signal(syscall.SIGINT)
	_ = c.Wait()
	if c.ProcessState.ExitCode() != 0 || !json.Valid([]byte(out.String())) {
		t.Errorf("code %d, stdout %q, stderr %q", c.ProcessState.ExitCode(), out, notes)
	}
}
