package mounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// TestMain lets this program be the server, or the daemon.
func TestMain(m *testing.M) {
	if len(os.Args) < 7 || os.Args[1] != "lab" || os.Args[2] != "nfs" && os.Args[2] != "disk" {
		os.Exit(m.Run())
	}
	serve := func(f *lab.ServedFile) error { return lab.ServeNFS(3, f, os.Stdin, os.Stdout) }
	if os.Args[2] == "disk" {
		serve = func(f *lab.ServedFile) error { return lab.ServeDisk(3, f, os.Stdin, os.Stdout) }
	}
	size, err1 := strconv.ParseInt(os.Args[4], 10, 64)
	heads, err2 := strconv.Atoi(os.Args[6])
	if err := errors.Join(err1, err2, serve(&lab.ServedFile{Size: size, Heads: heads})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// servedByNFS is a file of a server that takes so long for each read, mounted by the
// kernel's own client, and opened past the page cache.
func servedByNFS(t *testing.T) (fd int, device string, set func(time.Duration) lab.Served) {
	t.Helper()
	labtest.Need(t, "root", "nfs")
	env, err := labtest.New(t, t.TempDir())
	require.NoError(t, err)
	path, err := env.ServeNFS(os.Args[0], "slow", &lab.ServedFile{Size: 64 << 20, Heads: 8}, 0)
	require.NoError(t, err)
	fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd, host.DevNumber(bpftest.ID(t, path).Dev).String(), func(d time.Duration) lab.Served {
		t.Helper()
		did, err := env.SlowFrom("slow", d)
		require.NoError(t, err)
		return did
	}
}

// The layer gets what a server delays, within 2 %: from when the client begins to send a
// read until it has found what the answer is to, as the kernel's own trace has both. That
// is more than the server's own account, which begins when the call is read and ends
// before the answer is written: the trace tells the way there and back, too, which is up
// to the machine.
func TestDelayOfTheNFSServer(t *testing.T) {
	bpftest.ComparesFigures(t)
	fd, device, set := servedByNFS(t)
	buf := bpftest.Aligned(t, 4096)
	for _, c := range []struct {
		delay time.Duration
		n     int // primes
	}{{time.Millisecond, 401}, {10 * time.Millisecond, 101}, {100 * time.Millisecond, 23}} {
		var was, did lab.Served
		var reader time.Duration
		var calls []call
		w := bpftest.Observe(t, Open, func() {
			was = set(c.delay)
			calls = traced(t, func() {
				start := time.Now()
				for n := range c.n {
					if _, err := unix.Pread(fd, buf, int64(n)<<12); err != nil {
						t.Fatal(err)
					}
				}
				reader = time.Since(start)
			})
			did = set(c.delay)
		})
		e := sample.Entity{Device: device, Class: "READ"}
		n, _ := w.Sum(sample.NFSRequests, e)
		layer, _ := w.Sum(sample.NFSServerTime, e)
		if n != float64(c.n) || did.Requests-was.Requests != int64(c.n) || len(calls) != c.n {
			t.Fatalf("%v: %g reads, and %d in the kernel's trace, want %d", c.delay, n, len(calls), c.n)
		}
		own := (did.Took - was.Took).Seconds()
		var there, served, back time.Duration
		for _, x := range calls {
			there, served, back = there+x.read-x.sent, served+x.answered-x.read, back+x.found-x.answered
		}
		truth := (there + served + back).Seconds()
		t.Logf("a delay of %v: the layer's time %.4f ms a read, %.4f of the kernel's trace: %.4f ms there, %.4f ms in the server (%.4f ms by its own account), %.4f ms back; the reader's %.4f ms",
			c.delay, 1e3*layer/n, layer/truth, 1e3*there.Seconds()/n, 1e3*served.Seconds()/n, 1e3*own/n, 1e3*back.Seconds()/n, 1e3*reader.Seconds()/n)
		const cut = 1e-3 // of the sum, the kernel shows whole milliseconds
		if layer < 0.98*truth-cut || layer > 1.02*truth+cut {
			t.Errorf("%v: %g s of the server, want %g s within 2 %%", c.delay, layer, truth)
		}
		if layer < own-cut || layer > reader.Seconds()+cut {
			t.Errorf("%v: %g s of the server, want %g to %g", c.delay, layer, own, reader.Seconds())
		}
	}
}

// iocause is the program, which guests are given: IOCAUSE names it.
func iocause(t *testing.T) string {
	t.Helper()
	program := os.Getenv("IOCAUSE")
	if program == "" {
		t.Skip("IOCAUSE names no program")
	}
	return program
}

// A server or a daemon that answers nothing, behind a hard mount, holds none of the
// commands up, and who waits for it is shown.
func TestHungServers(t *testing.T) {
	program := iocause(t)
	for kind, says := range map[string]string{"nfs": "PROBLEM: remote-server-slow", "fuse": "PROBLEM: fuse-daemon-slow"} {
		t.Run(kind, func(t *testing.T) {
			server, path := serves(t, kind, 0)
			hang(t, program, path, server, kind, says)
		})
	}
}

// Nor does one that stops while a diagnosis watches what is read from it.
func TestServersThatHangInTheWindow(t *testing.T) {
	program := iocause(t)
	for _, kind := range []string{"nfs", "fuse"} {
		t.Run(kind, func(t *testing.T) {
			server, path := serves(t, kind, 50*time.Millisecond)
			reader := exec.Command("dd", "if="+path, "of=/dev/null", "bs=64k")
			require.NoError(t, reader.Start())
			var out bytes.Buffer
			diagnosis := exec.Command(program, "diagnose", "--duration", "8s")
			diagnosis.Stdout, diagnosis.Stderr = &out, &out
			start := time.Now()
			require.NoError(t, diagnosis.Start())
			time.Sleep(6 * time.Second)
			require.NoError(t, signals(server, syscall.SIGSTOP))
			// Whatever waits for the server goes on then: nothing may stay behind.
			patience := time.AfterFunc(time.Minute, func() { _ = signals(server, syscall.SIGCONT) })
			err := diagnosis.Wait()
			t.Logf("the diagnosis: %v, %v", time.Since(start).Round(time.Millisecond), err)
			if !patience.Stop() {
				t.Errorf("the diagnosis does not end:\n%s", out.String())
			}
			require.NoError(t, errors.Join(signals(server, syscall.SIGCONT), reader.Process.Kill()))
			_ = reader.Wait() // killed
		})
	}
}

// serves is a process that serves a file of 64 MiB, and where that is mounted.
func serves(t *testing.T, kind string, delay time.Duration) (server, path string) {
	t.Helper()
	labtest.Need(t, "root", kind)
	before := children(t)
	env, err := labtest.New(t, t.TempDir())
	require.NoError(t, err)
	mount := env.ServeNFS
	if kind == "fuse" {
		mount = env.ServeFile
	}
	path, err = mount(os.Args[0], "hung", &lab.ServedFile{Size: 64 << 20, Heads: 8}, delay)
	require.NoError(t, err)
	all := slices.DeleteFunc(children(t), func(pid int) bool { return slices.Contains(before, pid) })
	if len(all) != 1 {
		t.Fatalf("the servers are %v", all)
	}
	return strconv.Itoa(all[0]), path
}

// So is a server of a share, or of a virtual machine's host (test/vm/layers cifs, ceph,
// virtiofs). IOCAUSE_SHARE is a file of the share, of which nothing has been read yet, and
// IOCAUSE_SERVER the process that all goes through to the server, for the kernel's own cannot
// be stopped; or where it runs on another machine, a serial line that leads to who stops it.
func TestHungShare(t *testing.T) {
	program, path, server := os.Getenv("IOCAUSE"), os.Getenv("IOCAUSE_SHARE"), os.Getenv("IOCAUSE_SERVER")
	if program == "" || path == "" || server == "" {
		t.Skip("IOCAUSE, IOCAUSE_SHARE and IOCAUSE_SERVER name no program, no file of a share and no process")
	}
	kind, says := mountOf(t, path).Type, "PROBLEM: remote-server-slow"
	if kind == "virtiofs" {
		says = "PROBLEM: fuse-daemon-slow"
	}
	hang(t, program, path, server, kind, says)
}

// signals stops a server, or lets it go on.
func signals(server string, signal syscall.Signal) error {
	if pid, err := strconv.Atoi(server); err == nil {
		return syscall.Kill(pid, signal)
	}
	word := map[syscall.Signal]string{syscall.SIGSTOP: "STOP\n", syscall.SIGCONT: "CONT\n"}[signal]
	return os.WriteFile(server, []byte(word), 0)
}

func hang(t *testing.T, program, path, server, kind, says string) {
	t.Helper()
	require.NoError(t, signals(server, syscall.SIGSTOP))
	time.Sleep(time.Second) // a line takes a moment
	reader := exec.Command("dd", "if="+path, "of=/dev/null", "bs=4k", "count=1")
	require.NoError(t, reader.Start())
	defer func() { // all that wait for it go on
		if err := signals(server, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		if err := reader.Wait(); err != nil {
			t.Errorf("the reader: %v", err)
		}
	}()
	time.Sleep(2 * time.Second)
	said := map[string]string{}
	for _, command := range []string{
		"mounts 3 1", "disk 2 1", "disk --by health 1 1", "disk --by stack 2 1", "files 2 1", "cache 2 1", "writeback 2 1",
		"threads 2 1", "mem", "check", "diagnose --duration 5s",
	} {
		patience, end := context.WithTimeout(t.Context(), 2*time.Minute)
		start := time.Now()
		out, err := exec.CommandContext(patience, program, strings.Fields(command)...).CombinedOutput()
		late := patience.Err()
		end()
		t.Logf("iocause %s: %v, %v", command, time.Since(start).Round(time.Millisecond), err)
		if late != nil {
			t.Errorf("iocause %s does not end", command)
		}
		said[command] = string(out)
	}
	if stack, err := os.ReadFile(fmt.Sprintf("/proc/%d/stack", reader.Process.Pid)); err == nil {
		t.Logf("the reader sleeps in\n%s", stack)
	}
	for command, want := range map[string]string{"mounts 3 1": kind, "diagnose --duration 5s": says} {
		if strings.Contains(said[command], "opening took longer than") {
			t.Logf("iocause %s: this machine is too slow for its probes, which it says", command)
			continue
		}
		if !strings.Contains(said[command], want) || !strings.Contains(said[command], "dd") {
			t.Errorf("iocause %s does not say %q and who waits:\n%s", command, want, said[command])
		}
	}
}

// children are this process's own.
func children(t *testing.T) []int {
	t.Helper()
	var all []int
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // a thread that has ended
		}
		for _, f := range bytes.Fields(b) {
			pid, err := strconv.Atoi(string(f))
			require.NoError(t, err)
			all = append(all, pid)
		}
	}
	return all
}
