package load

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// underWay is one request of an io_uring.
type underWay struct {
	buf         []byte
	off, length int64
	start       time.Duration
}

// runRing makes this thread's calls, count of them at most when count is not 0,
// depth of them at a time. The latency of one is from when it is put in line to
// when its completion is seen.
func (w *worker) runRing(p *pace, count int64) (err error) {
	ring, err := newRing(w.spec.Depth)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ring.close()) }()
	slots := make([]underWay, w.spec.Depth)
	idle := make([]int, w.spec.Depth)
	for i := range slots {
		slots[i].buf = w.buf[int64(i)*int64(w.spec.BlockSize):][:w.spec.BlockSize]
		idle[i] = i
	}
	var failed error
	for made, over := int64(0), false; ; {
		for ; !over && len(idle) > 0; made++ {
			off, length, ok := int64(0), int64(0), false
			if (count == 0 || made < count) && failed == nil && p.wait() {
				off, length, ok = w.offsets.next()
			}
			if !ok {
				over = true
				break
			}
			i := idle[len(idle)-1]
			idle = idle[:len(idle)-1]
			s := &slots[i]
			s.off, s.length, s.start = off, length, time.Since(p.start)
			ring.read(w.fd, s.buf[:length], off, uint64(i))
		}
		if len(idle) == len(slots) {
			return failed
		}
		// Even after a failure all buffers have to come back from the kernel.
		if err := ring.enter(1); err != nil {
			return err
		}
		now := time.Since(p.start)
		for d, ok := ring.done(); ok; d, ok = ring.done() {
			s := &slots[d.user]
			idle = append(idle, int(d.user))
			n, err := w.outcome(d.res)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("io_uring read at byte %d: %w", s.off, err))
				over = true
				continue
			}
			w.made(s.off, n, now, now-s.start, false)
		}
	}
}

// outcome reads the result of a request: a number of bytes or a negated errno.
func (w *worker) outcome(res int32) (int64, error) {
	switch {
	case w.spec.Keep && res == -int32(unix.EIO):
		w.errors++
		return 0, nil
	case res < 0:
		return 0, unix.Errno(-res)
	case res == 0:
		return 0, io.ErrUnexpectedEOF
	}
	return int64(res), nil
}
