package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// Work that stops because the program was frozen, or stopped by a signal, does not
// stand still for want of anything, whatever its threads seem to wait for.
func TestFrozenIsNoStandstill(t *testing.T) {
	machine(t, "root")
	c, err := host.Live().Cgroups()
	if err != nil {
		t.Fatal(err)
	}
	v1, _ := c.Controller("freezer")
	v2 := c.Unified
	for _, by := range []struct {
		name         string
		top          *host.Hierarchy
		file         string
		freeze, thaw string
	}{
		{"freezer of version 1", &v1, "freezer.state", "FROZEN", "THAWED"},
		{"version 2", v2, "cgroup.freeze", "1", "0"},
	} {
		t.Run(by.name, func(t *testing.T) {
			if by.top == nil || by.top.Dir == "" {
				t.Skip("no cgroups of " + by.name + " are mounted")
			}
			pid := startWaiter(t, "mutex", "")
			above := filepath.Join(by.top.Dir, fmt.Sprintf("iocause-test-%d", os.Getpid()))
			below := filepath.Join(above, "below")
			write := func(dir, file, what string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, file), []byte(what), 0); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{above, below} {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := os.Remove(dir); err != nil {
						t.Error(err)
					}
				})
			}
			write(below, "cgroup.procs", strconv.Itoa(pid))
			t.Cleanup(func() { write(by.top.Dir, "cgroup.procs", strconv.Itoa(pid)) })
			write(above, by.file, by.freeze)
			t.Cleanup(func() { write(above, by.file, by.thaw) })
			time.Sleep(100 * time.Millisecond)
			for i, what := range stopAt(t, pid, 6, 8) {
				if what != "" {
					t.Fatalf("%d s after it was frozen: %s", 10*(i+1), what)
				}
			}
			write(above, by.file, by.thaw)
			time.Sleep(100 * time.Millisecond)
			if told := stopAt(t, pid, 6, 5); told[4] == "" {
				t.Error("it stands still once it is thawed, and nothing is told")
			}
		})
	}
	t.Run("signal", func(t *testing.T) {
		pid := startWaiter(t, "mutex", "")
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		for i, what := range stopAt(t, pid, 6, 8) {
			if what != "" {
				t.Fatalf("%d s after it was stopped: %s", 10*(i+1), what)
			}
		}
	})
}
