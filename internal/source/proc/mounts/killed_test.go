package mounts

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// A daemon that is killed while a hundred reads wait for it ends these with an error. Who
// watches meanwhile goes on to the end, and says that the daemon was waited for; who comes
// later is not held up by what it has left, and says nothing of it.
func TestKilledDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("it watches for ten seconds")
	}
	labtest.Need(t, "root", "fuse")
	program := os.Getenv("IOCAUSE") // where there is no compiler
	if program == "" {
		program = labtest.Build(t)
	}
	before := children(t)
	env, err := lab.New(host.Live(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := env.Close(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
			t.Errorf("the daemon ended with %v", err)
		}
	})
	path, err := env.ServeFile(os.Args[0], "killed", &lab.ServedFile{Size: 64 << 20, Heads: 4}, 200*time.Millisecond)
	require.NoError(t, err)
	daemon := slices.DeleteFunc(children(t), func(pid int) bool { return slices.Contains(before, pid) })
	if len(daemon) != 1 {
		t.Fatalf("the daemons are %v", daemon)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	const readers = 100
	var failed atomic.Int64
	var reading, watching sync.WaitGroup
	for i := range readers {
		buf := bpftest.Aligned(t, 4096)
		reading.Go(func() {
			for n := i; ; n += readers {
				if _, err := unix.Pread(fd, buf, int64(n%16384)<<12); err != nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	said := map[string]*require.Output{}
	for _, command := range []string{"diagnose --duration 8s", "mounts 8 1", "disk 8 1", "files 8 1", "threads 8 1"} {
		out := &require.Output{}
		said[command] = out
		watching.Go(func() { ends(t, exec.Command(program, strings.Fields(command)...), out) })
	}
	screen, keys := live(t, program)
	watching.Go(func() { ends(t, screen, &require.Output{}) })
	for deadline := time.Now().Add(time.Minute); !strings.Contains(said["diagnose --duration 8s"].String(), "observing for"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the diagnosis does not begin")
		}
	}
	time.Sleep(5 * time.Second)
	require.NoError(t, syscall.Kill(daemon[0], syscall.SIGKILL))
	reading.Wait()
	if n := failed.Load(); n != readers {
		t.Errorf("%d of %d readers were told that the daemon is gone", n, readers)
	}
	time.Sleep(3 * time.Second)
	_, err = keys.WriteString("q") // live is still there
	require.NoError(t, err)
	watching.Wait()
	for command, want := range map[string]string{"diagnose --duration 8s": "PROBLEM: fuse-daemon-slow", "mounts 8 1": "killed.img"} {
		if out := said[command]; !strings.Contains(out.String(), want) && !strings.Contains(out.String(), "opening took longer than") { // on a machine that is too slow
			t.Errorf("iocause %s does not say %q:\n%s", command, want, out)
		}
	}
	for _, command := range []string{"diagnose --duration 2s", "mounts 1 1", "disk 1 1", "disk --by health 1 1", "files 1 1", "cache 1 1", "check"} {
		var out require.Output
		ends(t, exec.Command(program, strings.Fields(command)...), &out)
		if strings.Contains(out.String(), "PROBLEM: fuse-daemon-slow") {
			t.Errorf("iocause %s says after it:\n%s", command, &out)
		}
	}
}

// ends runs a command that must end by itself, and well.
func ends(t *testing.T, c *exec.Cmd, out *require.Output) {
	t.Helper()
	c.Stdout, c.Stderr = out, out
	start := time.Now()
	if err := c.Start(); err != nil {
		t.Error(err)
		return
	}
	patience, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	defer context.AfterFunc(patience, func() { _ = c.Process.Kill() })()
	err := c.Wait()
	t.Logf("%s: %v, %v", strings.Join(c.Args[1:], " "), time.Since(start).Round(time.Millisecond), err)
	if patience.Err() != nil {
		t.Errorf("%s does not end", c)
	} else if err != nil && c.ProcessState.ExitCode() != 1 { // check says so of what it lacks
		t.Errorf("%s: %v", c, err)
	}
}

// live is the screen, in a terminal of its own, and what types there.
func live(t *testing.T, program string) (*exec.Cmd, *os.File) {
	t.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		t.Fatal("no script(1): ", err)
	}
	c := exec.Command("script", "-qec", program+" live", "/dev/null")
	stdin, keys, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { stdin.Close(); keys.Close() })
	c.Stdin = stdin
	return c, keys
}
