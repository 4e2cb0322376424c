package cgroup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// watch tells of writes to the files of cgroups, and of cgroups that are made, renamed
// or removed (inotify(7)). Not safe for concurrent use.
type watch struct {
	fd  int
	buf []byte
}

// event is what happened in the directory of a cgroup.
type event struct {
	in   int32  // the watch of the directory
	name []byte // of the file, until the next event
	tree bool   // a cgroup below came or went
	lost bool   // there were more events than the kernel keeps; nothing else is set
}

const (
	watched     = unix.IN_MODIFY | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR
	treeChanges = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
)

func newWatch() (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watching cgroups: %w", err)
	}
	return &watch{fd: fd, buf: make([]byte, 16<<10)}, nil
}

// add watches a directory and returns the number of that watch.
func (w *watch) add(dir string) (int32, error) {
	n, err := unix.InotifyAddWatch(w.fd, dir, watched)
	if err != nil {
		return 0, fmt.Errorf("watching %q: %w", dir, err)
	}
	return int32(n), nil
}

// remove ends a watch. It may have ended with its directory.
func (w *watch) remove(n int32) { _, _ = unix.InotifyRmWatch(w.fd, uint32(n)) }

// take calls f with each event since the last call.
func (w *watch) take(f func(event)) error {
	for {
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("reading what changed in cgroups: %w", err)
		}
		for b := w.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask, length := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:][:length], []byte{0})
			f(event{
				in: int32(binary.NativeEndian.Uint32(b)), name: name, lost: mask&unix.IN_Q_OVERFLOW != 0,
				tree: mask&unix.IN_ISDIR != 0 && mask&treeChanges != 0,
			})
			b = b[unix.SizeofInotifyEvent+length:]
		}
	}
}

func (w *watch) close() error { return unix.Close(w.fd) }
