package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/console"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
	"iocause/internal/source"
)

// The test binary is the program itself when it is told so; before that it may
// be made to lack something. These are environment variables.
const (
	asProgram = "IOCAUSE_TEST_PROGRAM" // run the command line
	fewOnly   = "IOCAUSE_TEST_FEW"     // with the sources alone that load no kernel program
	asReader  = "IOCAUSE_TEST_READER"  // read this file over and over, under a hostile name
	dropCaps  = "IOCAUSE_TEST_DROP"    // without the capabilities for kernel programs
	hidePaths = "IOCAUSE_TEST_HIDE"    // with empty folders there, parted by colons
	hideOther = "IOCAUSE_TEST_HIDEPID" // as nobody, with /proc mounted so
)

func TestMain(m *testing.M) {
	if path := os.Getenv(asReader); path != "" {
		readUnderAHostileName(path)
	}
	if os.Getenv(asProgram) == "" {
		code := m.Run()
		if path, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(path))
		}
		os.Exit(code)
	}
	if err := becomePoor(); err != nil {
		fmt.Fprintln(os.Stderr, "making the test's surroundings:", err)
		os.Exit(99)
	}
	if os.Getenv(fewOnly) != "" {
		os.Exit(runFew())
	}
	os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// runFew is Run with the sources that load no kernel program. Loading them takes a
// second, and what becomes of signals, pipes and codes does not depend on them.
func runFew() int {
	defer console.KeepBrokenPipes()()
	few := slices.DeleteFunc(source.List(), func(e source.Entry) bool { return probes()[e.Name] })
	e := &env{streams: streams{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, host: host.Live(), sources: few}
	return runLine(context.Background(), e, os.Args[1:])
}

// becomePoor takes away what the environment says, and runs the program anew:
// capabilities are lost on the way through exec.
func becomePoor() error {
	runtime.LockOSThread()
	again := false
	if paths := os.Getenv(hidePaths); paths != "" {
		for _, p := range strings.Split(paths, ":") {
			if err := unix.Mount("none", p, "tmpfs", unix.MS_RDONLY, ""); err != nil {
				return fmt.Errorf("hiding %s: %w", p, err)
			}
		}
	}
	if os.Getenv(dropCaps) != "" {
		again = true
		for _, c := range []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return fmt.Errorf("dropping capability %d: %w", c, err)
			}
		}
	}
	if mode := os.Getenv(hideOther); mode != "" {
		again = true
		if err := unix.Mount("proc", "/proc", "proc", 0, "hidepid="+mode); err != nil {
			return fmt.Errorf("mounting /proc: %w", err)
		}
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobodyID), syscall.Setuid(nobodyID)); err != nil {
			return fmt.Errorf("becoming nobody: %w", err)
		}
	}
	if !again {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(self, append([]string{"iocause"}, os.Args[1:]...), []string{asProgram + "=1", "PATH=" + os.Getenv("PATH")})
}

const nobodyID = 65534

// program copies the test binary to where everybody can run it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer self.Close()
	to, err := os.OpenFile(filepath.Join(dir, "iocause"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(to, self); err != nil {
		return "", err
	}
	return to.Name(), to.Close()
})

// run is one run of the program.
type run struct {
	args  []string
	env   []string
	uid   uint32
	mount bool // in a mount name space of its own
	few   bool // with the sources alone that load no kernel program
	out   *os.File
}

func (r run) command(t *testing.T) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c = exec.CommandContext(ctx, path, r.args...)
	c.Dir = "/"
	c.Env = append([]string{asProgram + "=1", "PATH=" + os.Getenv("PATH")}, r.env...)
	if r.few {
		c.Env = append(c.Env, fewOnly+"=1")
	}
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = stdout, stderr
	if r.out != nil {
		c.Stdout = r.out
	}
	c.SysProcAttr = &syscall.SysProcAttr{}
	if r.uid != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: r.uid, Gid: r.uid}
	}
	if r.mount {
		c.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	}
	c.WaitDelay = 10 * time.Second
	return c, stdout, stderr
}

// do runs it to its end.
func (r run) do(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	c, out, notes := r.command(t)
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code = c.ProcessState.ExitCode()
	if code == 99 {
		bpftest.Need(t, "bpf", errors.New(notes.String()))
	}
	for _, bad := range []string{"panic:", "goroutine 1", "DATA RACE"} {
		if strings.Contains(notes.String(), bad) {
			t.Errorf("%q: %s", r.args, notes)
		}
	}
	return code, out.String(), notes.String()
}

// smallCgroup makes a cgroup with so many bytes of memory, in a scratch place
// that goes with the test.
func smallCgroup(t *testing.T, limit int64) (*lab.Env, *lab.Cgroup) {
	t.Helper()
	env, err := labtest.New(t, "")
	require.NoError(t, err)
	small, err := env.Cgroup("small", &lab.Limits{Memory: limit})
	if errors.Is(err, lab.ErrNoCgroup) {
		bpftest.Need(t, "cgroup", err)
	}
	require.NoError(t, err)
	return env, small
}
