package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// hostileFile is a name that erases the screen, breaks the line, is no UTF-8
// and reads from right to left.
const hostileFile = "\x1b[2J\x1b]0;owned\a\n\r\xff\xc3(\u202egnp.exe\u2028\t\"\\<b>"

// A process of a hostile name that reads a file of a hostile name, in a cgroup
// of one: no byte of them may act on the terminal, none may be lost in JSON.
func TestHostileNamesDoNoHarm(t *testing.T) {
	bpftest.Root(t)
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-") // /tmp may be in memory
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, hostileFile)
	data := make([]byte, 4<<20)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	if f, err := os.Open(path); err != nil {
		t.Fatal(err)
	} else if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	reading := startReader(t, path)
	pid := strconv.Itoa(reading)
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if comm, err := os.ReadFile("/proc/" + pid + "/comm"); err == nil && strings.HasPrefix(string(comm), hostileComm) {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("the reader did not take its name")
		}
	}
	for _, filter := range [][]string{{"--pid", pid}, {"--comm", hostileComm}} {
		r := run{args: append([]string{"--duration", "1s", "--format", "json"}, filter...)}
		code, out, stderr := r.do(t)
		if code != 0 {
			t.Fatalf("%q: code %d, %s", filter, code, stderr)
		}
		harmless(t, out+stderr)
		rep := decode(t, out)
		who := rep.Victim
		for _, f := range rep.Findings {
			if who.Comm == "" {
				who = f.Culprit
			}
		}
		if rep.Primary == diagnose.Healthy || rep.Primary == diagnose.Unknown {
			t.Logf("%q: the reader did not wait enough to be the victim: %s", filter, rep.Primary)
			continue
		}
		if who.Comm != hostileComm || who.PID != reading {
			t.Errorf("%q: victim %+v, want %q", filter, who, hostileComm)
		}
		if file := rep.Findings[0].Culprit.File; !strings.Contains(stderr, "not permitted") && file != "" && file != path {
			t.Errorf("%q: file %q, want %q", filter, file, path)
		}
		if filter[0] != "--pid" {
			continue // the screen is the same
		}
		r.args = append([]string{"--duration", "500ms"}, filter...)
		_, out, stderr = r.do(t)
		harmless(t, out+stderr)
		if !strings.Contains(out, `\x1b[2J\n\xff) S \u202eab`) {
			t.Errorf("%q: the name is not shown:\n%s", filter, out)
		}
	}
}

// harmless: printable UTF-8 and ends of lines, nothing else.
func harmless(t *testing.T, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("not UTF-8: %q", out)
	}
	for i, r := range out {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%q reaches the terminal, in %q", r, out[max(0, i-40):min(len(out), i+40)])
			return
		}
	}
}

// Names come back from JSON byte by byte, and reach the text escaped.
func TestHostileNamesSurviveJSON(t *testing.T) {
	waits := source.Entry{Name: "waits", Metrics: []sample.Metric{sample.WaitIO, sample.ProcUser}, Needs: "nothing",
		Open: func(*host.Host) (sample.Source, error) { return hostileSource{}, nil }}
	_, out, _ := runApp(t.Context(), []source.Entry{waits}, "--duration", "100ms", "--format", "json")
	harmless(t, out)
	r := decode(t, out)
	if r.Victim.Comm != hostileComm || r.Victim.Cgroup != "/"+hostileFile {
		t.Errorf("victim %+v", r.Victim)
	}
	if !slices.Contains(r.Gaps, "gap of \x1b[2J\u202e") {
		t.Errorf("gaps %+q", r.Gaps)
	}
	_, out, _ = runApp(t.Context(), []source.Entry{waits}, "--duration", "100ms")
	harmless(t, out)
	if !strings.Contains(out, `\x1b[2J`) {
		t.Errorf("no trace of the name in\n%s", out)
	}
}

// hostileSource is a host where a process of hostile names waits all the time.
type hostileSource struct{}

func (hostileSource) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First {
		into.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 100, hostileComm)
		into.PutProcess(7, sample.Process{Comm: hostileComm, MemoryCgroup: "/" + hostileFile})
		into.PutGap(sample.Gap{Why: "gap of \x1b[2J\u202e"})
	}
	return nil
}

func (hostileSource) Close() error { return nil }

// Output that cannot be written fails the program, and says so, but for output
// that nobody wants any more; a command that was watched still runs to its end.
func TestOutputFails(t *testing.T) {
	t.Parallel() // most of the time it waits
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	reads, pipe, err := os.Pipe()
	require.NoError(t, err)
	defer pipe.Close()
	reads.Close()
	mark := filepath.Join(t.TempDir(), "mark")
	for _, args := range [][]string{
		{"--duration", "100ms"}, {"--duration", "100ms", "--format", "json"}, {"check"}, {"version"}, {"--help"},
		{"--exit-code", "--duration", "100ms", "--", "sh", "-c", "sleep 0.5; echo done >>" + mark},
	} {
		code, _, stderr := run{args: args, out: full, few: true}.do(t)
		if code != 1 || !strings.Contains(stderr, "no space left on device") {
			t.Errorf("%q: code %d, stderr %q; want 1 and that the device is full", args, code, stderr)
		}
		if code, _, stderr := (run{args: args, out: pipe, few: true}).do(t); code != 141 || strings.Contains(stderr, "pipe") {
			t.Errorf("%q: code %d, stderr %q; want 141, as of a program that SIGPIPE ends, and nothing of a pipe", args, code, stderr)
		}
	}
	if done, err := os.ReadFile(mark); err != nil || string(done) != "done\ndone\n" {
		t.Errorf("the command left %q, %v", done, err)
	}
}

// A command that is watched has SIGPIPE as it was, and so ends like any other.
func TestCommandHasItsSignals(t *testing.T) {
	code, _, stderr := run{args: []string{"--exit-code", "--", "sh", "-c", "kill -PIPE $$; exit 3"}, few: true}.do(t)
	if code != 128+int(syscall.SIGPIPE) {
		t.Errorf("code %d, %s", code, stderr)
	}
}

func TestOddCommands(t *testing.T) {
	for _, c := range []struct {
		script, gap string
		code        int
		few         bool
	}{
		{"true", "the command ran for ", 0, false},
		{"kill -KILL $$", "the command failed (signal: killed)", 137, true},
		{"sleep 0.2; exit 3", "the command failed (exit status 3)", 3, true},
		{"sleep 0.2", "", 0, true},
	} {
		code, out, stderr := run{args: []string{"--exit-code", "--format", "json", "--", "sh", "-c", c.script}, few: c.few}.do(t)
		if code != c.code {
			t.Errorf("%q: code %d, want %d: %s", c.script, code, c.code, stderr)
		}
		r := decode(t, out)
		checkReport(t, &r)
		if gaps := strings.Join(r.Gaps, "\n"); c.gap == "" && strings.Contains(gaps, "the command") || !strings.Contains(gaps, c.gap) {
			t.Errorf("%q: gaps %q, want %q", c.script, gaps, c.gap)
		}
	}
}

// waitFor lets a program come up to where it says this on standard error.
func waitFor(t *testing.T, notes fmt.Stringer, want string) {
	t.Helper()
	for began := time.Now(); !strings.Contains(notes.String(), want); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("never said %q: %q", want, notes)
		}
	}
}

// launch starts the program with streams that can be read meanwhile.
func launch(t *testing.T, args ...string) (c *exec.Cmd, out, notes *require.Output) {
	t.Helper()
	return run{args: args}.launch(t)
}

func (r run) launch(t *testing.T) (c *exec.Cmd, out, notes *require.Output) {
	t.Helper()
	c, _, _ = r.command(t)
	out, notes = &require.Output{}, &require.Output{}
	c.Stdout, c.Stderr = out, notes
	require.NoError(t, c.Start())
	return c, out, notes
}

func TestInterrupts(t *testing.T) {
	t.Parallel() // most of the time it waits
	t.Run("once prints the finding", func(t *testing.T) {
		t.Parallel()
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			c, out, notes := run{args: []string{"--duration", "1h", "--format", "json"}, few: s == syscall.SIGTERM}.launch(t)
			waitFor(t, notes, "observing")
			time.Sleep(300 * time.Millisecond)
			_ = c.Process.Signal(s)
			_ = c.Wait()
			if r := decode(t, out.String()); c.ProcessState.ExitCode() != 0 || r.Window.Seconds < 0.2 {
				t.Errorf("%v: code %d, %+v", s, c.ProcessState.ExitCode(), r.Window)
			}
		}
	})
	t.Run("too early is an error", func(t *testing.T) {
		t.Parallel()
		c, out, notes := run{args: []string{"--duration", "1h"}, few: true}.launch(t)
		waitFor(t, notes, "observing")
		_ = c.Process.Signal(syscall.SIGINT)
		_ = c.Wait()
		// A slow machine may have seen something by then.
		if code := c.ProcessState.ExitCode(); out.String() == "" && (code != 1 || !strings.Contains(notes.String(), "ended by interrupt before anything was observed")) {
			t.Errorf("code %d, stdout %q, stderr %q", code, out, notes)
		}
	})
	t.Run("twice quits", func(t *testing.T) {
		t.Parallel()
		// The command does not take the first for its end.
		c, out, notes := run{args: []string{"--", "sh", "-c", "trap 'echo no >&2' INT; echo ready >&2; for i in $(seq 400); do sleep 0.05; done"}, few: true}.launch(t)
		waitFor(t, notes, "ready")
		child := childOf(t, c.Process.Pid)
		defer func() { _ = syscall.Kill(-child, syscall.SIGKILL) }()
		time.Sleep(300 * time.Millisecond)
		_ = c.Process.Signal(syscall.SIGINT)
		waitFor(t, notes, "is still running; Ctrl-C again leaves it running")
		if out.String() == "" {
			t.Error("the first did not print the finding")
		}
		began := time.Now()
		_ = c.Process.Signal(syscall.SIGINT)
		c.WaitDelay = time.Second // the command holds the pipes open
		_ = c.Wait()
		if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGINT {
			t.Errorf("ended with %v, want SIGINT, which a shell calls 130", c.ProcessState)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
	t.Run("after the window is passed on", func(t *testing.T) {
		t.Parallel()
		c, _, notes := run{args: []string{"--duration", "100ms", "--exit-code", "--", "sh", "-c", "trap 'exit 9' INT; for i in $(seq 400); do sleep 0.05; done"}, few: true}.launch(t)
		waitFor(t, notes, "is still running; Ctrl-C ends it")
		_ = c.Process.Signal(syscall.SIGINT)
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != 9 {
			t.Errorf("code %d, want the command's 9: %s", code, notes)
		}
	})
}

// childOf is the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	var kids []int
	for _, name := range files {
		list, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(list)) {
			kid, err := strconv.Atoi(word)
			require.NoError(t, err)
			kids = append(kids, kid)
		}
	}
	if len(kids) != 1 {
		t.Fatalf("children %v", kids)
	}
	return kids[0]
}

// Ctrl-C on a terminal reaches the command once, through the program.
func TestInterruptFromATerminal(t *testing.T) {
	tty, screen := terminal(t, 80)
	c, out, notes := (run{args: []string{"--duration", "1h"}, few: true}).command(t)
	c.Stdin = tty
	c.SysProcAttr.Setsid, c.SysProcAttr.Setctty = true, true
	seen := &require.Output{}
	c.Stderr = seen
	require.NoError(t, c.Start())
	waitFor(t, seen, "observing")
	time.Sleep(300 * time.Millisecond)
	if _, err := screen.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 0 || !strings.Contains(out.String(), ", cost CPU ") {
		t.Errorf("code %d, stdout %q, stderr %q %q", code, out, notes, seen)
	}
}

func TestNobodyToDiagnose(t *testing.T) {
	for _, args := range [][]string{{"--comm", "nobody-has-this"}} {
		code, out, stderr := run{args: append(args, "--duration", "200ms"), few: true}.do(t)
		if code != 1 || out != "" || !strings.Contains(stderr, `there is no process called "nobody-has-this" now`) ||
			!strings.Contains(stderr, "nor did one appear in the 2") {
			t.Errorf("%q: code %d, stdout %q, stderr %q", args, code, out, stderr)
		}
	}
	bpftest.Root(t)
	cgroups, err := host.Live().Cgroups()
	require.NoError(t, err)
	memory, ok := cgroups.Controller("memory")
	if !ok {
		bpftest.Need(t, "cgroup", host.ErrNoController)
	}
	dir, err := os.MkdirTemp(memory.Dir, "iocause-test-\xff\x1b-")
	bpftest.Need(t, "cgroup", err)
	defer func() {
		if err := unix.Rmdir(dir); err != nil {
			t.Error(err)
		}
	}()
	code, out, stderr := run{args: []string{"--cgroup", dir, "--duration", "200ms"}, few: true}.do(t)
	if code != 1 || out != "" || !strings.Contains(stderr, `there is no process in cgroup "/iocause-test-\xff\x1b-`) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	harmless(t, stderr)
}

// A name that someone bears only during the window is found.
func TestLateComerIsFound(t *testing.T) {
	late := source.Entry{Name: "waits", Metrics: []sample.Metric{sample.WaitIO}, Needs: "nothing",
		Open: func(*host.Host) (sample.Source, error) { return hostileSource{}, nil }}
	code, out, stderr := runApp(t.Context(), []source.Entry{late}, "--duration", "100ms", "--format", "json", "--comm", hostileComm)
	if r := decode(t, out); code != 0 || r.Victim.PID != 7 || !strings.Contains(stderr, "watching in case that changes") {
		t.Errorf("code %d, %+v, stderr %q", code, r.Victim, stderr)
	}
}

// A process that ends while it is watched: the report says so.
func TestProcessEndsHalfWay(t *testing.T) {
	t.Parallel() // most of the time it waits
	sleeper := exec.CommandContext(t.Context(), "sleep", "0.5")
	require.NoError(t, sleeper.Start())
	go func() { _ = sleeper.Wait() }()
	pid := strconv.Itoa(sleeper.Process.Pid)
	code, out, stderr := run{args: []string{"--pid", pid, "--duration", "900ms", "--format", "json"}, few: true}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	r := decode(t, out)
	checkReport(t, &r)
	if gap := "process " + pid + " ended while it was watched"; !strings.Contains(strings.Join(r.Gaps, "\n"), gap) {
		t.Errorf("gaps %q do not say %q", r.Gaps, gap)
	}
	if code, _, stderr := (run{args: []string{"--pid", pid, "--duration", "1h"}}).do(t); code != 1 || !strings.Contains(stderr, "looking for process "+pid) {
		t.Errorf("now that it has ended: code %d, stderr %q", code, stderr)
	}
}

// The number of a process that has ended may be given to another.
func TestProcessIsReplaced(t *testing.T) {
	dir := t.TempDir()
	h := host.Tree(dir, time.Now)
	start := func(ticks string) *host.Started {
		require.NoError(t, os.MkdirAll(h.Proc("7"), 0o755))
		stat := "7 (a) b)) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + ticks + " 0 0"
		require.NoError(t, os.WriteFile(h.Proc("7", "stat"), []byte(stat), 0o600))
		return h.StartOf(7)
	}
	first := start("500")
	if first == nil || first.Ended(h) != "" {
		t.Fatalf("%+v ended: %q", first, first.Ended(h))
	}
	start("501")
	if got := first.Ended(h); got != "process 7 ended while it was watched: the finding is about the time before" {
		t.Errorf("%q", got)
	}
	require.NoError(t, os.RemoveAll(h.Proc("7")))
	if first.Ended(h) == "" || h.StartOf(7) != nil {
		t.Error("it has gone")
	}
}

// Five thousand processes take neither the time nor the figures away.
func TestThousandsOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 5,000 processes")
	}
	const many = 5000
	reads, hold, err := os.Pipe()
	require.NoError(t, err)
	// Shells that wait for a line: no exec, hardly any memory.
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do { read -r line || :; } <&3 & i=$((i+1)); done; echo ready; wait`, many)
	c := exec.CommandContext(t.Context(), "sh", "-c", script)
	var out require.Output
	c.Stdout, c.Stderr, c.ExtraFiles = &out, &out, []*os.File{reads}
	require.NoError(t, c.Start())
	reads.Close()
	defer func() {
		hold.Close()
		_ = c.Wait()
	}()
	waitFor(t, &out, "ready")
	if strings.Contains(out.String(), "fork") {
		t.Skipf("5,000 processes may not be started here: %.100s", out.String())
	}
	began := time.Now()
	code, text, stderr := run{args: []string{"--duration", "1s", "--format", "json"}}.do(t)
	if took := time.Since(began); code != 0 || took > 15*time.Second {
		t.Errorf("code %d after %v: %s", code, took, stderr)
	}
	r := decode(t, text)
	checkReport(t, &r)
	t.Logf("%v for a window of %.2f s, %+v", time.Since(began), r.Window.Seconds, r.Cost)
	if r.Window.Seconds > 3 || strings.Contains(strings.Join(r.Gaps, "\n"), "could not be read") {
		t.Errorf("window of %g s, gaps %q", r.Window.Seconds, r.Gaps)
	}
}

// startReader starts a process of a hostile name that reads a file over and over, and
// ends it with the test.
func startReader(t *testing.T, path string) (pid int) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	reader := exec.CommandContext(t.Context(), self)
	reader.Env = []string{asReader + "=" + path}
	require.NoError(t, reader.Start())
	t.Cleanup(func() {
		_ = reader.Process.Kill()
		_ = reader.Wait()
	})
	return reader.Process.Pid
}
