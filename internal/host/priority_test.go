package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"iocause/internal/require"
)

func TestRunnable(t *testing.T) {
	for content, want := range map[string]int{"9.36 8.99 6.84 7/705 19710\n": 7, "": 0, "1 2 3 x/y 5\n": 0} {
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc/loadavg"), []byte(content), 0o600))
		if got := Tree(root, nil).runnable(); got != want {
			t.Errorf("of %q: %d runnable threads, want %d", content, got, want)
		}
	}
}

// TestPrioritize sets the nice value of every thread of ours, and sets it back.
func TestPrioritize(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may lower a nice value")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	values := func() (all []int) {
		threads, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		for _, d := range threads {
			tid, err := strconv.Atoi(d.Name())
			require.NoError(t, err)
			if p, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil {
				all = append(all, 20-p)
			}
		}
		return all
	}
	before := values()
	h := Live()
	h.prioritize(-20)
	for _, v := range values() {
		if v != -20 {
			t.Errorf("nice values %v, want -20 in all", values())
			break
		}
	}
	h.prioritize(before[0])
	if got := values(); got[0] != before[0] {
		t.Errorf("nice values afterwards %v, before %v", got, before)
	}
}

// TestHurryOnlyInACrowd: nobody gives way to us where there is room for all.
func TestHurryOnlyInACrowd(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may lower a nice value")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nice := func() int {
		p, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
		require.NoError(t, err)
		return 20 - p
	}
	before, root := nice(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
	require.NoError(t, os.Symlink("/proc/self", filepath.Join(root, "proc/self")))
	for _, c := range []struct {
		runnable, want int
	}{{crowd*runtime.NumCPU() - 1, before}, {crowd * runtime.NumCPU(), -20}} {
		loadavg := strings.Replace("1 1 1 N/999 5\n", "N", strconv.Itoa(c.runnable), 1)
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc/loadavg"), []byte(loadavg), 0o600))
		h := Live()
		h.Root = root
		undo := h.Hurry()
		if got := nice(); got != c.want {
			t.Errorf("%d runnable threads: nice value %d, want %d", c.runnable, got, c.want)
		}
		undo()
		if got := nice(); got != before {
			t.Errorf("nice value %d afterwards, %d before", got, before)
		}
	}
}
