package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"iocause/internal/require"
)

// A device that is gone is looked for once for all the rows of a table, and
// found when it has come.
func TestDevicesThatAreGone(t *testing.T) {
	root := t.TempDir()
	now := time.Unix(100, 0)
	l := NewLookup(Tree(root, func() time.Time { return now }))
	come := func(name, number string) {
		t.Helper()
		dir := filepath.Join(root, "sys/block", name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dev"), []byte(number+"\n"), 0o600))
	}
	want := func(dev uint32, want string) {
		t.Helper()
		if got := l.Disk(dev); got != want {
			t.Errorf("%d is %q, want %q", dev, got, want)
		}
	}
	come("sda", "8:0")
	const sda, sdb = 8 << 20, 8<<20 | 16
	want(sda, "sda")
	want(sdb, "8:16")
	read := l.devices
	want(sdb, "8:16")
	want(sda, "sda")
	if l.devices != read {
		t.Error("the devices were read anew for one that is gone")
	}
	come("sdb", "8:16")
	now = now.Add(goneFor)
	want(sdb, "sdb")
	if len(l.gone) != 0 {
		t.Errorf("%v", l.gone)
	}
}

func TestEnded(t *testing.T) {
	c := exec.Command("true")
	require.NoError(t, c.Run())
	l := NewLookup(Live())
	ended := l.Ended()
	if ended(uint32(os.Getpid())) || ended(1) {
		t.Error("who lives has ended")
	}
	if b, err := os.ReadFile("/proc/2/comm"); err == nil && string(b) == "kthreadd\n" {
		if !ended(uint32(c.Process.Pid)) {
			t.Error("who has ended lives")
		}
		// The answers are those of /proc, also of 0 and of numbers of threads.
		byProc := func(pid uint32) bool {
			_, err := os.Lstat("/proc/" + strconv.FormatUint(uint64(pid), 10))
			return err != nil
		}
		for pid := range uint32(3000) {
			if got := ended(pid); got != byProc(pid) && l.Ended()(pid) != byProc(pid) { // it may end or begin meanwhile
				t.Errorf("%d has ended: %v, /proc says %v", pid, got, !got)
			}
		}
	}
	l = NewLookup(Tree(t.TempDir(), time.Now))
	if l.Ended()(uint32(c.Process.Pid)) {
		t.Error("something is known of a captured tree")
	}
}
