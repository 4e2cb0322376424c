package pagecache

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// Who waits until another program allows that it opens a file, is seen to, for as long
// as that program takes; and who that program is.
func TestPermission(t *testing.T) {
	bpftest.ComparesFigures(t)
	labtest.Need(t, "fanotify")
	_, err := readRules(host.Live())
	bpftest.Need(t, "bpf", err)
	const opens, each = 101, 10 * time.Millisecond
	path := filepath.Join(t.TempDir(), "asked")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	p, r := opened(t)
	group, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	require.NoError(t, err)
	require.NoError(t, unix.FanotifyMark(group, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path))
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`for i in $(seq %d); do : < "$0"; done`, opens), path)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	took := time.Duration(0)
	for range opens {
		event := make([]byte, 24) // struct fanotify_event_metadata, and no room for a second
		n, err := unix.Read(group, event)
		require.NoError(t, err)
		from := time.Now()
		time.Sleep(each)
		answer := binary.NativeEndian.AppendUint32(nil, binary.NativeEndian.Uint32(event[16:]))
		answer = binary.NativeEndian.AppendUint32(answer, unix.FAN_ALLOW)
		took += time.Since(from)
		_, err = unix.Write(group, answer)
		require.NoError(t, err)
		require.NoError(t, unix.Close(int(binary.NativeEndian.Uint32(event[16:]))))
		if n != len(event) {
			t.Fatalf("an event of %d bytes", n)
		}
	}
	require.NoError(t, cmd.Wait())
	bpftest.Collect(t, p, sample.Last, r)
	require.NoError(t, unix.Close(group))
	w := r.Window(time.Now())
	e := sample.Entity{PID: cmd.Process.Pid, Class: sample.ClassPermit}
	waited, _ := w.Sum(sample.WaitFor, e)
	// from when the scanner is asked to when the shell runs again: two switches each
	if waited < took.Seconds() || waited > took.Seconds()+opens*0.001 {
		t.Errorf("it waited %.4f s for permission, of which the scanner took %.4f", waited, took.Seconds())
	}
	if is, _ := w.Value(sample.WaitScanner, sample.Entity{PID: os.Getpid()}); is != 1 {
		t.Error("this process is not among those who are asked")
	}
}
