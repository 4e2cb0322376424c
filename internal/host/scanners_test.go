package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// Who wants to be told of what is opened is no scanner; who wants to be asked is.
func TestScanners(t *testing.T) {
	labtest.Need(t, "fanotify")
	path := filepath.Join(t.TempDir(), "watched")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	h := host.Live()
	for mask, want := range map[uint64]bool{unix.FAN_OPEN: false, unix.FAN_OPEN_PERM: true, unix.FAN_ACCESS_PERM: true} {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)
		require.NoError(t, err)
		require.NoError(t, unix.FanotifyMark(fd, unix.FAN_MARK_ADD, mask, unix.AT_FDCWD, path))
		if got := slices.Contains(h.Scanners(), os.Getpid()); got != want || h.Scans(os.Getpid()) != want {
			t.Errorf("with the events %#x: a scanner is %t, want %t", mask, got, want)
		}
		require.NoError(t, unix.Close(fd))
	}
	if h.Scans(os.Getpid()) {
		t.Error("a scanner after it has closed all")
	}
}
