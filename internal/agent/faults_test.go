package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/series"
)

// machine is a scratch place on this machine, or the test is skipped.
func machine(t *testing.T, requirements ...string) *lab.Env {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	labtest.Need(t, requirements...)
	e, err := labtest.New(t, "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// recovers demands that a disk which failed for a while has cost no value, that
// newer ones are written, and ends the agent.
func (r *running) recovers(t *testing.T) {
	t.Helper()
	r.says(t, "iocause_agent_writable 1")
	r.says(t, `iocause_agent_values_total{class="lost"} 0`)
	free := time.Now()
	until(t, "newer values", func() bool { return len(r.ask(t, fmt.Sprintf("iocause_cpus @ %d > 0", free.Unix()+1))) == 1 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(r.log.String(), "values were lost") {
		t.Error(r.log)
	}
}

// says waits for a line of /metrics.
func (r *running) says(t *testing.T, line string) {
	t.Helper()
	until(t, line, func() bool {
		_, body := r.get(t, "/metrics")
		return strings.Contains(body, line+"\n")
	})
}

// instants are the instants of a series between two times.
func instants(t *testing.T, dir, name string, from, to time.Time) []time.Time {
	t.Helper()
	r, err := series.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Query(t.Context(), series.Query{Expr: fmt.Sprintf("%s[%dms]", name, to.Sub(from).Milliseconds()), To: to})
	if err != nil || len(got.Warnings) > 0 {
		t.Fatal(got, err)
	}
	var all []time.Time
	for _, l := range got.Lines {
		for _, p := range l.Points {
			all = append(all, p.At)
		}
	}
	return all
}

// A full disk costs nothing: what is measured meanwhile waits in memory, and is
// written when there is room again.
func TestDiskFullWhileRecording(t *testing.T) {
	t.Parallel()
	machine(t, "root")
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(mount, "rec")
	a := start(t, quickConfig(dir))
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	ballast := filepath.Join(mount, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The log grows into what is left of its last page.
	until(t, "the disk to be full", func() bool {
		_, err := f.Write(make([]byte, 4096))
		for ; err == nil; _, err = f.Write(make([]byte, 4096)) {
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		return strings.Contains(a.log.String(), "the history cannot be written")
	})
	full := time.Now()
	a.says(t, "iocause_agent_writable 0")
	time.Sleep(2 * time.Second) // it goes on like that
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.Close()
	a.recovers(t)
	if n := len(instants(t, dir, "iocause_cpus", full, full.Add(2*time.Second))); n < 5 {
		t.Errorf("%d instants of two seconds in which the disk was full", n)
	}
}

// An error of the disk makes its file system read-only; another disk is mounted
// in its place.
func TestReadOnlyWhileRecording(t *testing.T) {
	t.Parallel()
	e := machine(t, "root", "loop")
	first, err := e.Loop("first", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.Loop("second", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	trigger := "/sys/fs/ext4/" + first.Device + "/trigger_fs_error"
	if _, err := os.Stat(trigger); err != nil {
		bpftest.Need(t, "loop", err) // the kernel cannot be told to fail
	}
	if err := syscall.Mount("", first.Dir, "", syscall.MS_REMOUNT, "errors=remount-ro"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(first.Dir, "rec")
	a := start(t, quickConfig(dir))
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	if err := os.WriteFile(trigger, []byte("a test"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := time.Now()
	a.says(t, "iocause_agent_writable 0")
	if code, _ := a.get(t, "/api/v1/query?query=1"); code != http.StatusServiceUnavailable {
		t.Errorf("a query meanwhile: %d", code)
	}
	if n := len(instants(t, dir, "iocause_cpus", failed.Add(-time.Minute), time.Now())); n == 0 {
		t.Error("what was recorded before cannot be read")
	}
	if err := errors.Join(syscall.Unmount(first.Dir, syscall.MNT_DETACH), syscall.Mount("/dev/"+second.Device, first.Dir, "ext4", 0, "")); err != nil {
		t.Fatal(err)
	}
	a.says(t, "iocause_agent_writable 1")
	a.says(t, `iocause_agent_values_total{class="lost"} 0`)
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(a.log.String(), "values were lost") {
		t.Error(a.log)
	}
	if n := len(instants(t, dir, "iocause_cpus", failed, time.Now())); n < 5 {
		t.Errorf("%d instants since the disk failed", n)
	}
}

// A disk that hangs stops neither the watching nor the answers, and costs
// nothing that memory has room for.
func TestDiskHangsWhileRecording(t *testing.T) {
	t.Parallel()
	e := machine(t, "root", "loop")
	disk, err := e.Loop("hangs", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(disk.Dir, "rec")
	a := start(t, quickConfig(dir))
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	thaw := freeze(t, disk.Dir)
	hung := time.Now()
	a.says(t, "iocause_agent_writable 0")
	until(t, "it to be said", func() bool { return strings.Contains(a.log.String(), "the disk does not answer") })
	before := readCPU(t, a)
	until(t, "newer figures", func() bool { return readCPU(t, a) > before })
	thaw()
	a.recovers(t)
	if !strings.Contains(a.log.String(), "the disk answers again") {
		t.Error(a.log)
	}
	if n := len(instants(t, dir, "iocause_cpus", hung, hung.Add(time.Second))); n < 3 {
		t.Errorf("%d instants of a second in which the disk hung", n)
	}
}

// An incident is told while the disk that it would be kept on hangs, and kept
// when that answers again.
func TestIncidentWhileTheDiskHangs(t *testing.T) {
	t.Parallel()
	e := machine(t, "root", "loop")
	disk, err := e.Loop("hangs", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	other, err := e.Loop("fails", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	trigger := "/sys/fs/ext4/" + other.Device + "/trigger_fs_error"
	if _, err := os.Stat(trigger); err != nil {
		bpftest.Need(t, "loop", err) // the kernel cannot be told to fail
	}
	told := filepath.Join(t.TempDir(), "told")
	c := quickConfig(filepath.Join(disk.Dir, "rec"))
	c.Incidents.Command = []string{"/bin/sh", "-c", "echo $IOCAUSE_ACTION $IOCAUSE_INCIDENT >>" + told}
	c.watchEvery = 2 * time.Second
	a := start(t, c)
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	thaw := freeze(t, disk.Dir)
	// counts of errors are news from the second look on
	for began := time.Now(); ; time.Sleep(c.watchEvery / 5) {
		if err := os.WriteFile(trigger, []byte("a test"), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(told); string(b) == "open 0\n" {
			break
		} else if len(b) > 0 || time.Since(began) > 60*time.Second {
			t.Fatalf("told %q, and said: %s", b, a.log)
		}
	}
	dir := filepath.Join(c.Dir, "incidents")
	if list, err := incidents.List(dir); err != nil || len(list) > 0 {
		t.Errorf("%d incidents on a disk that hangs, %v", len(list), err)
	}
	thaw()
	until(t, "the incident to be kept", func() bool {
		x, err := incidents.Load(dir, 1)
		return err == nil && x.Meta.Open && slices.ContainsFunc(x.Meta.What.Limits, func(l sample.Limit) bool { // another test makes errors, too
			return l.Kind == sample.LimitErrors && l.Of == other.Device
		})
	})
	if list, err := incidents.List(dir); err != nil || len(list) != 1 {
		t.Errorf("%d incidents, %v", len(list), err)
	}
	a.recovers(t)
}

// An agent ends though the disk hangs, and says what that costs.
func TestAgentEndsThoughTheDiskHangs(t *testing.T) {
	t.Parallel()
	e := machine(t, "root", "loop")
	disk, err := e.Loop("hangs", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, quickConfig(filepath.Join(disk.Dir, "rec")))
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	thaw := freeze(t, disk.Dir)
	ended := make(chan error, 1)
	go func() { ended <- a.stop() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits for the disk")
	}
	if log := a.log.String(); strings.Count(log, "values not yet written are lost") != 1 || !strings.Contains(log, "the agent has stopped") {
		t.Error(log)
	}
	thaw()
	// What hung goes on, and lets go of the file system.
	until(t, "the file system to be free", func() bool {
		if a.agent.writer.recording() != nil {
			return false
		}
		all, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(all, func(fd string) bool {
			name, _ := os.Readlink(fd) // it may be closed by now
			return strings.HasPrefix(name, disk.Dir)
		})
	})
}

// readCPU is the time of the processors in programs, as the agent shows it.
func readCPU(t *testing.T, a *running) float64 {
	t.Helper()
	_, body := a.get(t, "/metrics")
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "iocause_cpu_user_seconds_total "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no time of programs in %s", body)
	return 0
}

// Requests of loop devices: include/uapi/linux/loop.h.
const (
	loopSetFd      = 0x4C00
	loopClrFd      = 0x4C01
	loopCtlAdd     = 0x4C80
	loopCtlRemove  = 0x4C81
	loopCtlGetFree = 0x4C82
)

func ioctl(f *os.File, request, value int) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), uintptr(request), uintptr(value)); errno != 0 {
		return errno
	}
	return nil
}

// plug makes a loop device over a file, and pull takes it away, the device
// itself too.
func plug(t *testing.T, number int, image string) (device string) {
	t.Helper()
	control, err := os.Open("/dev/loop-control")
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	if err := ioctl(control, loopCtlGetFree, 0); err != nil { // the driver is there
		t.Fatal(err)
	}
	if err := ioctl(control, loopCtlAdd, number); err != nil {
		t.Fatal(err)
	}
	device = fmt.Sprintf("/dev/loop%d", number)
	until(t, device, func() bool { _, err := os.Stat(device); return err == nil })
	backing, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer backing.Close()
	loop, err := os.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close()
	if err := ioctl(loop, loopSetFd, int(backing.Fd())); err != nil {
		t.Fatal(err)
	}
	return device
}

func pull(t *testing.T, number int) {
	t.Helper()
	control, err := os.Open("/dev/loop-control")
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	until(t, "the device to go", func() bool {
		if loop, err := os.Open(fmt.Sprintf("/dev/loop%d", number)); err == nil {
			_ = ioctl(loop, loopClrFd, 0) // it may be gone already
			loop.Close()
		}
		err := ioctl(control, loopCtlRemove, number)
		return err == nil || errors.Is(err, syscall.ENODEV)
	})
}

// readBytes is what the kernel counts of a device.
func readBytes(t *testing.T, device string) int {
	t.Helper()
	b, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	sectors, err := strconv.Atoi(string(bytes.Fields(b)[2]))
	if err != nil {
		t.Fatal(err)
	}
	return 512 * sectors
}

// Disks come and go while the agent runs, each with the number of the one
// before: all that they did is counted, once.
func TestDisksComeAndGo(t *testing.T) {
	e := machine(t, "root", "loop")
	image := filepath.Join(e.Scratch(), "image")
	if err := os.WriteFile(image, bytes.Repeat([]byte("iocause"), 700_000), 0o600); err != nil {
		t.Fatal(err)
	}
	number := 100_000 + os.Getpid()%100_000
	t.Cleanup(func() { pull(t, number) })
	a := start(t, quickConfig(filepath.Join(t.TempDir(), "rec")))
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	total := 0
	for round := range 5 {
		device := plug(t, number, image)
		f, err := os.Open(device)
		if err != nil {
			t.Fatal(err)
		}
		// Less each time: the next disk's figures are below those of the last.
		if _, err := io.CopyN(io.Discard, f, int64(4_000_000-600_000*round)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		read := readBytes(t, device)
		if read < 1_000_000 {
			t.Fatalf("the kernel counts %d bytes", read)
		}
		total += read
		a.says(t, fmt.Sprintf("iocause_disk_read_bytes_total{device=%q} %s", filepath.Base(device), strconv.FormatFloat(float64(total), 'g', -1, 64)))
		pull(t, number)
		time.Sleep(500 * time.Millisecond) // a reading without it
	}
	if err := a.stop(); err != nil {
		t.Error(err)
	}
}
