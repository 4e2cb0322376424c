package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// muchSetUp uses most of what the lab can make.
const muchSetUp = `title: much set-up
requires: [root, loop, fuse, memcg, swap]
files: {f: 4M}
setup:
  - cgroup: {name: host, memory: 256M}
  - loop: {name: disk, size: 64M, filesystem: ext4}
  - loop: {name: slow, size: 16M, latency: 2ms}
  - mount: {name: memory, filesystem: tmpfs}
  - swap: 8M
phases:
  - name: one
    duration: 40s
    pressure: [{name: eater, cgroup: host, do: {kind: eat, bs: 1M, size: 16M, tmpfs: true}}]
    loads:
      - {name: l, cgroup: host, do: {kind: read, path: "{disk}/f", size: 16M, bs: 4k, duration: 30s}}
      - {name: s, do: {kind: direct, path: "{slow}", bs: 4k, duration: 30s}}
`

// leftovers is everything that a run of the lab has made and that is there, as
// the kernel tells.
func leftovers(t *testing.T, pid int) (all []string) {
	t.Helper()
	name := fmt.Sprintf("%s%d-", lab.Prefix, pid)
	for _, pattern := range []string{"/var/tmp/" + name + "*", "/run/iocause-lab/" + name + "*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		all = append(all, found...)
	}
	loops, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	require.NoError(t, err)
	for _, file := range append(loops, "/proc/mounts", "/proc/swaps") {
		b, _ := os.ReadFile(file) // a loop device may go in between
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "/"+name) {
				all = append(all, file+": "+strings.TrimSpace(line))
			}
		}
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), name) {
			all = append(all, path)
		}
		return nil // other cgroups come and go
	})
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, p := range processes {
		environment, _ := os.ReadFile(p + "/environ")
		stat, _ := os.ReadFile(p + "/stat")
		if bytes.Contains(environment, []byte("\x00IOCAUSE_LAB_LOAD="+name)) && !bytes.Contains(stat, []byte(") Z ")) {
			all = append(all, p)
		}
	}
	return all
}

// Whenever a run is killed, the next one's start takes all of it down: devices,
// mounts, swap, cgroups, folders and processes.
func TestLabRunSweepsAfterKill(t *testing.T) {
	labtest.Need(t, "root", "loop", "fuse", "memcg", "swap")
	file := filepath.Join(t.TempDir(), "much.yaml")
	require.NoError(t, os.WriteFile(file, []byte(muchSetUp), 0o600))
	moments := []time.Duration{0} // once all of it stands
	if !testing.Short() {
		moments = append(moments, rand.N(time.Second), rand.N(3*time.Second))
	}
	for n, moment := range moments {
		c, _, notes := run{args: []string{"lab", "run", file, "--scale=1", "--out", filepath.Join(t.TempDir(), "out")}}.command(t)
		require.NoError(t, c.Start())
		time.Sleep(moment)
		if n == 0 {
			waitForLoads(t, c, notes)
		}
		_ = c.Process.Signal(syscall.SIGKILL)
		_ = c.Wait()
		left := leftovers(t, c.Process.Pid)
		if n == 0 {
			for _, want := range []string{"/var/tmp/", "/run/iocause-lab/", "/sys/block/loop", "/disk ext4", "iocause-lab /var/tmp", "/memory tmpfs", "/proc/swaps", "/sys/fs/cgroup", "/proc/"} {
				if !slices.ContainsFunc(left, func(l string) bool { return strings.Contains(l, want) }) {
					t.Errorf("the killed run has left no %q: %q", want, left)
				}
			}
		}
		next := filepath.Join(t.TempDir(), "next")
		if code, _, notes := (run{args: []string{"lab", "run", tinyExperiment(t, "4k", "passes: 1"), "--scale=1", "--out", next}}).do(t); code != 0 {
			t.Errorf("the run after one that was killed after %v: code %d: %s", moment, code, notes)
		}
		if still := leftovers(t, c.Process.Pid); len(still) > 0 {
			t.Errorf("killed after %v, %d things were left, and after the next run: %q", moment, len(left), still)
		}
	}
}

// waitForLoads waits until both loads of a run and the one that takes memory work.
func waitForLoads(t *testing.T, c *exec.Cmd, notes fmt.Stringer) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		working := 0
		for _, l := range leftovers(t, c.Process.Pid) {
			if args, err := os.ReadFile(l + "/cmdline"); err == nil && bytes.Contains(args, []byte("\x00load\x00")) {
				working++
			}
		}
		if working == 3 {
			return
		}
	}
	t.Errorf("the loads did not start: %s", notes)
}
