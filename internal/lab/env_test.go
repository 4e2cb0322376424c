package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab/load"
)

// need skips, or fails when IOCAUSE_REQUIRE insists.
func need(t *testing.T, requirements ...string) {
	t.Helper()
	for _, r := range requirements {
		if lack := Lacks(host.Live(), r); lack != "" {
			if Demanded(r) {
				t.Fatalf("%s is demanded: %s", r, lack)
			}
			t.Skipf("%s: %s", r, lack)
		}
	}
}

func testEnv(t *testing.T, state string) *Env {
	t.Helper()
	e, err := newEnv(host.Live(), "", state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !strings.Contains(err.Error(), "file already closed") {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func gone(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := os.Lstat(p); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", p, err)
		}
	}
}

func TestCgroupsHoldTheirProcesses(t *testing.T) {
	need(t, "root", "memcg", "blkio")
	e := testEnv(t, t.TempDir())
	_, number, err := DeviceOf(e.host, e.Scratch())
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Cgroup("both", &Limits{Memory: 64 << 20, Device: number, ReadBPS: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start([]string{"cat", "/proc/self/cgroup"}, c, false)
	if err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if n := strings.Count(p.Stdout.String(), e.name+"-both"); n != len(c.folders()) {
		t.Errorf("in %d of %d cgroups:\n%s%s", n, len(c.folders()), p.Stdout.Bytes(), p.Stderr.Bytes())
	}
	// One that will not end by itself goes with the environment.
	if _, err := e.Start([]string{"sleep", "1000"}, c, false); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, append(c.folders(), e.Scratch())...)
}

func TestSettingsComeBack(t *testing.T) {
	need(t, "root")
	e := testEnv(t, t.TempDir())
	device, _, err := DeviceOf(e.host, e.Scratch())
	if err != nil {
		t.Fatal(err)
	}
	files := []string{
		e.host.Proc("sys/vm/dirty_bytes"), e.host.Proc("sys/vm/dirty_background_bytes"), e.host.Proc("sys/vm/dirty_ratio"),
		e.host.Proc("sys/vm/dirty_background_ratio"), e.host.Proc("sys/vm/swappiness"), e.host.Sys("block", device, "queue/read_ahead_kb"),
	}
	var before []string
	for _, f := range files {
		before = append(before, read(t, f))
	}
	for name, value := range map[string]string{"vm.dirty_bytes": "1073741824", "vm.dirty_background_bytes": "536870912", "vm.swappiness": "59"} {
		if err := e.Sysctl(name, value); err != nil {
			t.Fatal(err)
		}
		if got := read(t, e.host.Proc("sys", strings.ReplaceAll(name, ".", "/"))); got != value {
			t.Errorf("%s is %s, want %s", name, got, value)
		}
	}
	if err := e.ReadAhead(device, 1024); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if got := read(t, f); got != before[i] {
			t.Errorf("%s is %s after, was %s", f, got, before[i])
		}
	}
}

func TestLoopAndSwapGo(t *testing.T) {
	need(t, "root", "loop", "swap")
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			if fs != "ext4" {
				need(t, fs)
			}
			e := testEnv(t, t.TempDir())
			disk, err := e.Loop("disk", 320<<20, fs, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := load.Create(filepath.Join(disk.Dir, "x"), 1<<20); err != nil {
				t.Fatal(err)
			}
			// the number of a file system of btrfs is no device's
			if name, _, err := DeviceOf(e.host, disk.Dir); fs != "btrfs" && (err != nil || name != disk.Device) {
				t.Errorf("device under %s: %s (%v), want %s", disk.Dir, name, err, disk.Device)
			}
			swap, err := e.Swap(32 << 20)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(read(t, "/proc/swaps"), swap) {
				t.Error("the swap file is not in use")
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(read(t, "/proc/swaps"), swap) || strings.Contains(read(t, "/proc/mounts"), disk.Dir) {
				t.Error("swap or mount outlived the environment")
			}
			gone(t, e.host.Sys("block", disk.Device, "loop/backing_file"), e.Scratch())
		})
	}
}

func TestMountsGo(t *testing.T) {
	need(t, "root")
	lower := t.TempDir()
	if err := os.WriteFile(filepath.Join(lower, "below"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, fs := range []string{"tmpfs", "overlay"} {
		e := testEnv(t, t.TempDir())
		dir, err := e.Mount("m", fs, lower)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte("y"), 0o600); err != nil {
			t.Error(err)
		}
		_, err = os.Stat(filepath.Join(dir, "below"))
		if below := err == nil; below != (fs == "overlay") {
			t.Errorf("%s: a file of the folder below: %v", fs, err)
		}
		if !strings.Contains(read(t, "/proc/mounts"), fs+" "+dir+" "+fs+" ") {
			t.Errorf("%s is not mounted", fs)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(read(t, "/proc/mounts"), dir) {
			t.Errorf("%s outlived the environment", fs)
		}
		gone(t, e.Scratch(), filepath.Join(lower, "new"))
	}
	if _, err := testEnv(t, t.TempDir()).Mount("m", "nfs", lower); err == nil {
		t.Error("a file system that cannot be mounted was")
	}
}

// Half of a broken disk cannot be read, and a load that is told to goes on.
func TestBrokenLoopDisk(t *testing.T) {
	need(t, "root", "loop")
	e := testEnv(t, t.TempDir())
	disk, err := e.Loop("disk", 8<<20, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Break("disk", 4<<20); err != nil {
		t.Fatal(err)
	}
	spec := load.Spec{Kind: "direct", Path: disk.Dir, Order: load.Once, Passes: 1, Keep: true}
	r, err := load.Run(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls != 2048 || r.Errors != 1024 || r.Bytes != 4<<20 {
		t.Errorf("%d calls, %d errors, %d bytes; want 2048, 1024 and %d", r.Calls, r.Errors, r.Bytes, 4<<20)
	}
	spec.Keep = false
	if _, err := load.Run(t.Context(), spec, nil); !errors.Is(err, unix.EIO) {
		t.Errorf("a load that is not told to go on gave %v, want %v", err, unix.EIO)
	}
}

// TestSweep lets a run of this test binary die and takes over what it left.
func TestSweep(t *testing.T) {
	if state := os.Getenv("IOCAUSE_TEST_DIE"); state != "" {
		dieInTheMiddle(t, state)
		return
	}
	need(t, "root", "memcg", "loop")
	state := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweep$", "-test.v")
	cmd.Env = append(os.Environ(), "IOCAUSE_TEST_DIE="+state)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // it kills itself
	if !strings.Contains(out.String(), "left behind: ") {
		t.Fatalf("the run did not get far enough:\n%s", out.Bytes())
	}
	_, rest, _ := strings.Cut(out.String(), "left behind: ")
	left := strings.Fields(rest)
	for _, path := range left[1:] {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("not left behind after all: %v", err)
		}
	}
	// One that is just being started has no environment yet and no parent any more.
	if rest, err := leftBehind(left[0], 3); err != nil || len(rest) != 3 {
		t.Errorf("processes %v were left behind, not 3: %v", rest, err)
	}
	mine := testEnv(t, state)
	swept, err := sweep(host.Live(), state)
	if err != nil || len(swept) != 1 {
		t.Errorf("swept %v, %v", swept, err)
	}
	gone(t, left[1:]...)
	if rest, err := (&leader{mark: left[0]}).family(host.Live()); err != nil || len(rest) > 0 {
		t.Errorf("processes %v live on: %v", rest, err)
	}
	if _, err := os.Stat(mine.Scratch()); err != nil {
		t.Errorf("a living run was swept: %v", err)
	}
	if again, err := sweep(host.Live(), state); err != nil || len(again) != 0 {
		t.Errorf("swept again: %v, %v", again, err)
	}
}

// leftBehind are the living processes of a mark, asked for up to five seconds
// until they are as many as expected.
func leftBehind(mark string, want int) (rest []int, err error) {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		rest, err = (&leader{mark: mark}).family(host.Live())
		if err != nil || len(rest) == want || time.Now().After(end) {
			return rest, err
		}
	}
}

func dieInTheMiddle(t *testing.T, state string) {
	e, err := newEnv(host.Live(), "", state)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Cgroup("left", &Limits{Memory: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	disk, err := e.Loop("disk", 64<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start([]string{"/bin/sh", "-c", "sleep 1000 & (cd " + disk.Dir + "; setsid sleep 1000 &); echo >&3; exec sleep 1000"}, c, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("left behind: " + strings.Join([]string{p.leader.mark, c.Memory, e.Scratch(), e.host.Sys("block", disk.Device, "loop/backing_file")}, " ") + "\n")
	self, _ := os.FindProcess(os.Getpid())
	_ = self.Kill()
	time.Sleep(time.Minute)
}

func TestReadyAndStop(t *testing.T) {
	e := testEnv(t, t.TempDir())
	ctx := context.Background()
	p, err := e.Start([]string{"/bin/sh", "-c", `trap 'echo account; exit 0' TERM; echo running >&3; while :; do sleep 0.05; done`, "sh"}, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(5 * time.Second); err != nil || strings.TrimSpace(p.Stdout.String()) != "account" {
		t.Errorf("%v, it said %q", err, p.Stdout.String())
	}
	p, err = e.Start([]string{"/bin/sh", "-c", `echo a reason >&2; exit 3`, "sh"}, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(ctx); err == nil || !strings.Contains(err.Error(), "a reason") {
		t.Errorf("a load that fails at once: %v", err)
	}
	p, err = e.Start([]string{"/bin/sh", "-c", `trap '' TERM; sleep 1000`, "sh"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(50 * time.Millisecond); err != nil || !p.Ended() {
		t.Errorf("one that does not listen: %v", err)
	}
}

// What a load has started ends with it, and so does not keep a file system busy:
// what runs in the background, a daemon that has left group and parents, and one
// that does not listen.
func TestAllThatALoadStartsEnds(t *testing.T) {
	need(t, "root")
	e := testEnv(t, t.TempDir())
	dir, err := e.Mount("m", "tmpfs", "")
	if err != nil {
		t.Fatal(err)
	}
	const rest = `sleep 1000 & (setsid sleep 1000 >/dev/null 2>&1 &); (trap '' TERM; sleep 1000) & echo >&3; `
	for _, c := range []struct {
		name, last string
		ends       bool
	}{
		{"a shell that waits", "wait", false},
		{"one that becomes its command", "exec sleep 1000", false},
		{"one that does not listen", "trap '' TERM; while :; do sleep 1; done", false},
		{"one that has ended", "exit 3", true},
	} {
		p, err := e.Start([]string{"/bin/sh", "-c", "cd " + dir + "; " + rest + c.last}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if members, err := p.leader.family(e.host); err != nil || len(members) < 3 && !c.ends {
			t.Errorf("%s: it has started %v: %v", c.name, members, err)
		}
		if c.ends {
			<-p.ended
		}
		if err := p.Stop(time.Second); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if members, err := p.leader.family(e.host); err != nil || len(members) > 0 || !p.Ended() {
			t.Errorf("%s: %v live on: %v", c.name, members, err)
		}
		if err := p.outcome(); c.ends && err.Error() != "exit status 3" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// busy at once if anybody's folder is in there
	if err := unix.Unmount(dir, 0); err != nil {
		t.Errorf("unmount: %v", err)
	}
}

// A process that waits for a slow disk and is killed together with whoever made
// the disk does end: the disk answers until then.
func TestKilledWithSlowDisk(t *testing.T) {
	need(t, "root", "loop", "fuse")
	if dir := os.Getenv("IOCAUSE_TEST_SLOW_DISK"); dir != "" {
		waitForSlowDisk(t, dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledWithSlowDisk$")
	cmd.Env = append(os.Environ(), "IOCAUSE_TEST_SLOW_DISK="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "waiting\n" {
		t.Fatalf("it said %q: %v", line, err)
	}
	time.Sleep(100 * time.Millisecond) // it sleeps in the kernel by now
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for its own disk after it was killed")
	}
	h := host.Live()
	if _, err := sweep(h, filepath.Join(dir, "state")); err != nil {
		t.Error(err)
	}
}

// waitForSlowDisk makes one in this process, and waits for its first answer.
func waitForSlowDisk(t *testing.T, dir string) {
	e, err := newEnv(host.Live(), "", filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	disk, err := e.SlowDisk(os.Args[0], "slow", &ServedFile{Size: 16 << 20, Heads: slowHeads}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Slow("slow", 2*time.Second); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(disk.Dir, os.O_RDONLY|unix.O_DIRECT, 0) // a wait that no signal ends
	if err != nil {
		t.Fatal(err)
	}
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("waiting")
	for {
		if _, err := f.ReadAt(buf, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// Every request of a slow disk takes as long as was said, also when that changes
// under way, and nothing of it outlives the environment.
func TestSlowDisk(t *testing.T) {
	need(t, "root", "loop", "fuse")
	e := testEnv(t, t.TempDir())
	disk, err := e.SlowDisk(os.Args[0], "slow", &ServedFile{Size: 16 << 20, Heads: slowHeads}, 2*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(disk.Dir, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	least := func(what string, call func([]byte, int64) (int, error), delay time.Duration) {
		t.Helper()
		for i := range int64(8) {
			start := time.Now()
			n, err := call(buf, i*4096)
			if took := time.Since(start); err != nil || n != 4096 || took < delay {
				t.Errorf("%s: %d bytes in %v (%v), want %v at least", what, n, took, err, delay)
			}
		}
	}
	least("read", f.ReadAt, 2*time.Millisecond)
	least("write", f.WriteAt, 2*time.Millisecond)
	if err := e.Slow("slow", 30*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	least("read", f.ReadAt, 30*time.Millisecond)
	if err := errors.Join(f.Close(), unix.Munmap(buf)); err != nil {
		t.Fatal(err)
	}
	if err := load.Warm(disk.Dir, 1<<20); err != nil {
		t.Fatal(err)
	}
	if pages, err := load.ResidentPages(disk.Dir); err != nil || pages < 256 {
		t.Errorf("%d pages stayed in the cache when nobody had the disk open, not 256: %v", pages, err)
	}
	print, err := e.host.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	OwnNames(e.host, &print)
	if !slices.ContainsFunc(print.Devices, func(d host.BlockDevice) bool { return d.Name == "lab:slow" }) {
		t.Errorf("the disk has no name of its own among %+v", print.Devices)
	}
	if err := e.Slow("other", time.Second); err == nil {
		t.Error("a disk that is not there was slowed down")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read(t, "/proc/mounts"), e.Scratch()) {
		t.Error("the slow disk outlived the environment")
	}
	gone(t, e.host.Sys("block", disk.Device, "loop/backing_file"), e.Scratch())
}

// Two runs at once do not set the same: else what the one set would come back at the end of
// the other.
func TestSettingsOfTwoRuns(t *testing.T) {
	state, dir := filepath.Join(t.TempDir(), "state"), t.TempDir()
	set := func(name, value string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bytes, ratio, other := set("dirty_bytes", "0"), set("dirty_ratio", "20"), set("swappiness", "60")
	one, two := testEnv(t, state), testEnv(t, state)
	if err := one.SetFile(ratio, "5"); err != nil {
		t.Fatal(err)
	}
	if err := one.SetFile(ratio, "7"); err != nil {
		t.Errorf("its own setting: %v", err)
	}
	for _, path := range []string{ratio, bytes} {
		if err := two.SetFile(path, "1"); err == nil || !strings.Contains(err.Error(), "set by another run") {
			t.Errorf("%s, which another run has set: %v", path, err)
		}
	}
	if err := two.SetFile(other, "1"); err != nil {
		t.Errorf("what no other run has set: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if err := two.SetFile(ratio, "9"); err != nil {
		t.Errorf("after that run: %v", err)
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{ratio: "20", bytes: "0", other: "60"} {
		if got := read(t, path); got != want {
			t.Errorf("%s is %s at the end, was %s", path, got, want)
		}
	}
}

// A load does not write below a file system that is mounted, and does once it is not.
func TestMountedDeviceIsSpared(t *testing.T) {
	need(t, "root", "loop")
	e := testEnv(t, filepath.Join(t.TempDir(), "state"))
	disk, err := e.Loop("spared", 32<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(e.Scratch(), "spared.img")
	device := "/dev/" + disk.Device
	unix.Sync()
	before, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	write := func() error {
		_, err := load.Run(t.Context(), load.Spec{Kind: "direct-write", Path: device, Order: load.Once, Passes: 1, Size: 1 << 20, Keep: true}, nil)
		return err
	}
	if err := write(); !errors.Is(err, load.ErrInUse) {
		t.Errorf("written below a file system that is mounted: %v", err)
	}
	if after, err := os.ReadFile(image); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the device has changed, %v", err)
	}
	if err := unmount(disk.Dir); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("a device that is not in use: %v", err)
	}
}
