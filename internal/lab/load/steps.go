package load

import (
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// retry repeats a call that a signal interrupted; the Go runtime preempts by signal.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// raw makes a read or write without telling the Go scheduler. It would give
// the thread's processor away and have it looked for again after each call that
// waits for a device, a tenth and more of what a call costs; Run has a processor
// for every thread and two for all else. Until the call returns the thread
// cannot be stopped for the garbage collector, and so nor can anything go on
// that waits for that: as for the device.
func raw(trap uintptr, fd int, buf []byte, off int64) (int, error) {
	n, _, errno := unix.RawSyscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), uintptr(off), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// moved judges the outcome of a read-like call: nothing at all is an error,
// because offsets never start behind the end.
func moved(what string, n int, err error) (int64, error) {
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: %w", what, io.ErrUnexpectedEOF)
	}
	return int64(n), nil
}

func pread(w *worker, off, length int64) (int64, error) {
	n, err := retry(func() (int, error) { return raw(unix.SYS_PREAD64, w.fd, w.buf[:length], off) })
	return moved("pread", n, err)
}

func preadv2(w *worker, off, length int64) (int64, error) {
	n, err := retry(func() (int, error) { return unix.Preadv2(w.fd, [][]byte{w.buf[:length]}, off, 0) })
	return moved("preadv2", n, err)
}

func sendfile(w *worker, off, length int64) (int64, error) {
	n, err := retry(func() (int, error) { return unix.Sendfile(w.out, w.fd, &off, int(length)) })
	return moved("sendfile", n, err)
}

func splice(w *worker, off, length int64) (int64, error) {
	n, err := retry(func() (int, error) {
		n, err := unix.Splice(w.fd, &off, w.pipe[1], nil, int(length), 0)
		return int(n), err
	})
	for left := n; left > 0; {
		m, err := retry(func() (int, error) {
			m, err := unix.Splice(w.pipe[0], nil, w.out, nil, left, 0)
			return int(m), err
		})
		if err != nil {
			return 0, fmt.Errorf("splice to /dev/null: %w", err)
		}
		left -= m
	}
	return moved("splice", n, err)
}

func copyFileRange(w *worker, off, length int64) (int64, error) {
	to := off
	n, err := retry(func() (int, error) { return unix.CopyFileRange(w.fd, &off, w.out, &to, int(length), 0) })
	return moved("copy_file_range", n, err)
}

func pwrite(w *worker, off, length int64) (int64, error) {
	if w.spec.Truncate && off == 0 {
		if err := unix.Ftruncate(w.fd, 0); err != nil {
			return 0, fmt.Errorf("empty the file: %w", err)
		}
	}
	n, err := retry(func() (int, error) { return raw(unix.SYS_PWRITE64, w.fd, w.buf[:length], off) })
	if err == nil && w.spec.SyncEvery > 0 && (w.writeCalls()+1)%w.spec.SyncEvery == 0 {
		if err := unix.Fsync(w.fd); err != nil {
			return 0, fmt.Errorf("bring what was written to the device: %w", err)
		}
	}
	return moved("pwrite", n, err)
}

func readModifyWrite(w *worker, off, length int64) (int64, error) {
	if _, err := pread(w, off, length); err != nil {
		return 0, err
	}
	w.buf[0]++
	return pwrite(w, off, length)
}

// mixed reads or writes, as chance will have it.
func mixed(w *worker, off, length int64) (int64, error) {
	if w.wrote = w.offsets.rng.IntN(100) < w.spec.Writes; w.wrote {
		return pwrite(w, off, length)
	}
	return pread(w, off, length)
}

// touchRead reads one byte of every page of the region.
func touchRead(w *worker, off, length int64) (int64, error) {
	for at := off; at < off+length; at = (at/pageSize + 1) * pageSize {
		w.sink += w.mem[at]
	}
	return length, nil
}

// remap maps a block, reads one byte of every page of it and unmaps it again.
// All threads do so in one address space, whose lock each of the two calls
// takes for itself alone.
func remap(w *worker, off, length int64) (int64, error) {
	start := off / pageSize * pageSize
	size := off + length - start
	at, err := unix.MmapPtr(w.fd, start, nil, uintptr(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("mmap: %w", err)
	}
	mem := unsafe.Slice((*byte)(at), size)
	for i := off - start; i < size; i = (i/pageSize + 1) * pageSize {
		w.sink += mem[i]
	}
	if err := unix.MunmapPtr(at, uintptr(size)); err != nil {
		return 0, fmt.Errorf("munmap: %w", err)
	}
	return length, nil
}

// touchWrite changes one byte of every page of the region.
func touchWrite(w *worker, off, length int64) (int64, error) {
	for at := off; at < off+length; at = (at/pageSize + 1) * pageSize {
		w.mem[at]++
	}
	return length, nil
}

// spin computes for a millisecond, then reads once if there is a file.
func spin(w *worker, off, length int64) (int64, error) {
	for until := time.Now().Add(time.Millisecond); time.Now().Before(until); {
		for i := range 1000 {
			w.sink = w.sink*31 + byte(i)
		}
	}
	if w.fd < 0 {
		return 0, nil
	}
	return pread(w, off, length)
}
