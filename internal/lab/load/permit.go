package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// permitEvent is the size of struct fanotify_event_metadata: room for one event.
const permitEvent = 24

// openPermit has the kernel ask this process before anybody opens the file of a load,
// and wait for the answer: fanotify(7), as virus scanners and fapolicyd use it.
func (t *target) openPermit() (int, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("ask the kernel for permission events (fanotify, as root): %w", err)
	}
	t.closers = append(t.closers, func() error { return unix.Close(fd) }) // who waits still may go on then
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, t.spec.Path); err != nil {
		return -1, fmt.Errorf("ask for permission events of %s: %w", t.spec.Path, err)
	}
	return fd, nil
}

// runPermit allows what the kernel asks for, one open after the other, each after Think.
func (w *worker) runPermit(p *pace, count int64) error {
	event := w.buf[:permitEvent] // no room for a second one
	for made := int64(0); (count == 0 || made < count) && p.wait(); {
		ready := []unix.PollFd{{Fd: int32(w.out), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, 50); n <= 0 {
			if err != nil && !errors.Is(err, unix.EINTR) {
				return fmt.Errorf("wait for a permission event: %w", err)
			}
			continue
		}
		before := time.Since(p.start)
		switch n, err := unix.Read(w.out, event); {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR): // another thread has it
			continue
		case err != nil || n < permitEvent:
			return fmt.Errorf("read a permission event: %d bytes, %w", n, err)
		}
		file := int32(binary.NativeEndian.Uint32(event[16:])) // fanotify_event_metadata.fd
		if w.spec.Think > 0 {
			p.sleepUntil(time.Now().Add(w.spec.Think))
		}
		var answer [8]byte // struct fanotify_response
		binary.NativeEndian.PutUint32(answer[:], uint32(file))
		binary.NativeEndian.PutUint32(answer[4:], unix.FAN_ALLOW)
		_, err := unix.Write(w.out, answer[:])
		if err = errors.Join(err, unix.Close(int(file))); err != nil {
			return fmt.Errorf("answer a permission event: %w", err)
		}
		after := time.Since(p.start)
		w.made(0, 0, after, after-before, false)
		made++
	}
	return nil
}

// reopen opens the file anew and reads of it, as programs do that keep nothing open.
func reopen(w *worker, off, length int64) (int64, error) {
	fd, err := retry(func() (int, error) { return unix.Open(w.spec.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, fmt.Errorf("open: %w", err)
	}
	n, err := retry(func() (int, error) { return raw(unix.SYS_PREAD64, fd, w.buf[:length], off) })
	if e := unix.Close(fd); e != nil {
		return 0, fmt.Errorf("close: %w", e)
	}
	return moved("pread", n, err)
}
