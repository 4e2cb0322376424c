package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
)

func TestCommandIsWatchedToItsEnd(t *testing.T) {
	entries := []source.Entry{working("calm", sample.WaitIO)}
	code, out, err := runApp(t.Context(), entries, "--format", "json", "--", "sh", "-c", "cat; echo oops >&2; sleep 0.3; exit 3")
	r := decode(t, out) // nothing of the command's on our stdout
	if code != 0 || r.Window.Seconds < 0.3 || r.Window.Seconds > 9 {
		t.Errorf("code %d, window %v s", code, r.Window.Seconds)
	}
	if !strings.Contains(err, "given\n") || !strings.Contains(err, "oops\n") || !strings.Contains(err, "observing sh until it ends\n") {
		t.Errorf("stderr %q", err)
	}
}

func TestExitCodeIsPassedOn(t *testing.T) {
	entries := []source.Entry{working("calm", sample.WaitIO)}
	for script, want := range map[string]int{"exit 3": 3, "exit 0": 0, "kill -TERM $$": 128 + 15} {
		code, _, _ := runApp(t.Context(), entries, "--exit-code", "--", "sh", "-c", script)
		if code != want {
			t.Errorf("%s: code %d, want %d", script, code, want)
		}
	}
}

func TestCommandRunsOnAfterTheDuration(t *testing.T) {
	began := time.Now()
	entries := []source.Entry{working("calm", sample.WaitIO)}
	code, out, _ := runApp(t.Context(), entries, "--duration", "100ms", "--exit-code", "--format", "json", "--", "sh", "-c", "sleep 0.8; exit 4")
	r := decode(t, out)
	if code != 4 || time.Since(began) < 800*time.Millisecond || r.Window.Seconds > 0.7 {
		t.Errorf("code %d after %v, window %v s", code, time.Since(began), r.Window.Seconds)
	}
}

func TestInterruptPrintsTheFindingAndEndsTheCommand(t *testing.T) {
	var out, err require.Output
	a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &err}, host: host.Live(), sources: []source.Entry{working("calm", sample.WaitIO)}}
	done := make(chan int, 1)
	go func() {
		done <- runLine(t.Context(), a, []string{"--exit-code", "--", "sh", "-c", "trap 'exit 9' INT; sleep 0.3; echo ready; sleep 60 & wait"})
	}()
	for began := time.Now(); !strings.Contains(err.String(), "ready"); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("the command did not start: %q", err.String())
		}
	}
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	select {
	case code := <-done:
		if code != 9 || !strings.HasPrefix(out.String(), "NO PROBLEM") {
			t.Errorf("code %d, stdout %q", code, out.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("did not end")
	}
}

func TestFilterTargets(t *testing.T) {
	tree := "../../testdata/hosts/nvme-cgroup2"
	h := host.Tree(tree, time.Now)
	if pid, err := filters.Process(h, 4242); err != nil || pid != 4242 {
		t.Errorf("process 4242: %d %v", pid, err)
	}
	devices, err := h.Devices()
	require.NoError(t, err)
	parts := 0
	for _, d := range devices.All() {
		got, err := h.WholeDisk(d.Name)
		if err != nil || got != d.Disk {
			t.Errorf("%s: %q %v, want %s", d.Name, got, err, d.Disk)
		}
		if got, err := h.WholeDisk("/dev/" + d.Name); err != nil || got != d.Disk {
			t.Errorf("/dev/%s: %q %v, want %s", d.Name, got, err, d.Disk)
		}
		if !d.Whole() {
			parts++
		}
	}
	if parts == 0 {
		t.Error("no partition to try")
	}
	cgroups, err := h.Cgroups()
	require.NoError(t, err)
	memory, _ := cgroups.Controller("memory")
	var inside []string
	entries, err := os.ReadDir(memory.Dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			inside = append(inside, e.Name())
		}
	}
	if len(inside) == 0 {
		t.Fatal("no cgroup to try")
	}
	for _, name := range []string{inside[0], "/" + inside[0], inside[0] + "/", memory.Dir + "/" + inside[0]} {
		if got, err := filters.Cgroup(h, name); err != nil || got != "/"+inside[0] {
			t.Errorf("cgroup %q: %q %v, want /%s", name, got, err, inside[0])
		}
	}
	if got := host.Comm("a-very-long-name-indeed"); got != "a-very-long-nam" {
		t.Errorf("comm %q", got)
	}
}

func TestThreadIsItsProcess(t *testing.T) {
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	other := slices.IndexFunc(tasks, func(e os.DirEntry) bool { return e.Name() != strconv.Itoa(os.Getpid()) })
	if other < 0 {
		t.Fatal("a Go program has more than one thread")
	}
	tid, err := strconv.Atoi(tasks[other].Name())
	require.NoError(t, err)
	if pid, err := filters.Process(host.Live(), tid); err != nil || pid != os.Getpid() {
		t.Errorf("thread %d: process %d %v, want %d", tid, pid, err, os.Getpid())
	}
}
