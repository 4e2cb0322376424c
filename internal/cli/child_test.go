package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/host"
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
	var out, err stream
	a := &app{host: host.Live(), sources: []source.Entry{working("calm", sample.WaitIO)}, stdin: strings.NewReader(""), stdout: &out, stderr: &err}
	done := make(chan int, 1)
	go func() {
		done <- a.run(t.Context(), []string{"--exit-code", "--", "sh", "-c", "trap 'exit 9' INT; sleep 0.3; echo ready; sleep 60 & wait"})
	}()
	for began := time.Now(); !strings.Contains(err.String(), "ready"); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("the command did not start: %q", err.String())
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-done:
		if code != 9 || !strings.HasPrefix(out.String(), "HEALTHY") {
			t.Errorf("code %d, stdout %q", code, out.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("did not end")
	}
}

// A tree of three generations, of which the middle one ends: the grandchild is
// found all the same, and so is what has ended.
func TestTreeFollowsGenerations(t *testing.T) {
	var out stream
	a := &app{host: host.Live(), stdin: strings.NewReader(""), stdout: &out, stderr: &out}
	script := `echo self $$; sh -c 'echo middle $$; sleep 3 & echo orphan $!; sleep 0.3'; sleep 0.3`
	c, err := a.newChild([]string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.start(a.host); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); strings.Count(out.String(), "\n") < 3 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(4 * lookEvery)
	c.signal(syscall.SIGTERM)
	procs := c.stopTracking()
	c.wait(t.Context(), &out)
	for line := range strings.Lines(out.String()) {
		what, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatalf("%q", line)
		}
		comm, ok := procs[n]
		if want := map[string]string{"self": "sh", "middle": "sh", "orphan": "sleep"}[what]; !ok || comm != want {
			t.Errorf("%s: process %d is called %q, %v; want %q", what, n, comm, ok, want)
		}
	}
}

func TestScanFindsOrphansOfTheGroup(t *testing.T) {
	var out stream
	a := &app{host: host.Live(), stdin: strings.NewReader(""), stdout: &out, stderr: &out}
	// The grandchild's parent has ended before anyone looked at the tree.
	c, err := a.newChild([]string{"sh", "-c", "(sleep 5 & echo $!); sleep 5"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		_ = c.cmd.Wait()
	}()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "\n") && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{host: a.host, group: c.cmd.Process.Pid, seen: map[int]string{c.cmd.Process.Pid: ""}}
	tr.look()
	if _, ok := tr.seen[orphan]; ok {
		t.Fatalf("process %d is no orphan", orphan)
	}
	tr.scan()
	tr.look()
	if tr.seen[orphan] != "sleep" {
		t.Errorf("process %d of group %d is not in %v", orphan, tr.group, tr.seen)
	}
}

func TestFamily(t *testing.T) {
	for _, c := range []struct {
		stat          string
		parent, group int
		ok            bool
	}{
		{"12 (sh) S 7 12 12 0", 7, 12, true},
		{"12 (a) b (c)) S 7 13 12 0", 7, 13, true},
		{"12 (x\n) R 1 2) S 7 14 12 0", 7, 14, true},
		{"12 (sh) S", 0, 0, false},
		{"12 (sh) S x y", 0, 0, false},
		{"", 0, 0, false},
	} {
		if parent, group, ok := family([]byte(c.stat)); parent != c.parent && c.ok || group != c.group && c.ok || ok != c.ok {
			t.Errorf("%q: %d %d %v", c.stat, parent, group, ok)
		}
	}
}

func TestFilterTargets(t *testing.T) {
	tree := "../../testdata/hosts/nvme-cgroup2"
	h := host.Tree(tree, time.Now)
	if pid, err := processOf(h, 4242); err != nil || pid != 4242 {
		t.Errorf("process 4242: %d %v", pid, err)
	}
	devices, err := h.Devices()
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, d := range devices.All() {
		got, err := diskOf(h, d.Name)
		if err != nil || got != d.Disk {
			t.Errorf("%s: %q %v, want %s", d.Name, got, err, d.Disk)
		}
		if got, err := diskOf(h, "/dev/"+d.Name); err != nil || got != d.Disk {
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
	if err != nil {
		t.Fatal(err)
	}
	memory, _ := cgroups.Controller("memory")
	var inside []string
	entries, err := os.ReadDir(memory.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			inside = append(inside, e.Name())
		}
	}
	if len(inside) == 0 {
		t.Fatal("no cgroup to try")
	}
	for _, name := range []string{inside[0], "/" + inside[0], inside[0] + "/", memory.Dir + "/" + inside[0]} {
		if got, err := cgroupOf(h, name); err != nil || got != "/"+inside[0] {
			t.Errorf("cgroup %q: %q %v, want /%s", name, got, err, inside[0])
		}
	}
	if got := commOf("a-very-long-name-indeed"); got != "a-very-long-nam" {
		t.Errorf("comm %q", got)
	}
}

func TestThreadIsItsProcess(t *testing.T) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	other := slices.IndexFunc(tasks, func(e os.DirEntry) bool { return e.Name() != strconv.Itoa(os.Getpid()) })
	if other < 0 {
		t.Fatal("a Go program has more than one thread")
	}
	tid, err := strconv.Atoi(tasks[other].Name())
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := processOf(host.Live(), tid); err != nil || pid != os.Getpid() {
		t.Errorf("thread %d: process %d %v, want %d", tid, pid, err, os.Getpid())
	}
}
