package lab

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowFile is a file of zeros whose every read and write takes a time that is
// known: the root of a FUSE file system that a process of its own serves
// (ServeDisk). A loop device over it is a disk of known latency that no other
// disk has a part in. It keeps what is written in memory, or nothing of it.
//
// The protocol is that of include/uapi/linux/fuse.h, the part of it that a file
// which is mounted by itself needs.
type slowFile struct {
	fd    int
	size  int64
	store int          // memory that holds what is written, or the file below; -1: nothing is kept
	delay atomic.Int64 // nanoseconds that a read or write takes

	discard time.Duration // that a discard takes; 0: there are none

	served, took atomic.Int64 // reads and writes, and nanoseconds by the server's own clock
}

const (
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseWrite   = 16
	fuseStatFS  = 17
	fuseInit    = 26
	fuseDiscard = 43 // FALLOCATE, with a hole to be punched

	fuseForget      = 2 // these three have no reply
	fuseInterrupt   = 36
	fuseBatchForget = 42

	fuseAsyncDIO  = 1 << 15 // several direct requests in flight
	fuseInHeader  = 40      // bytes of struct fuse_in_header
	fuseOutHeader = 16
	fuseWriteIn   = 40 // of struct fuse_write_in
	fuseMostData  = 128 << 10
)

// ServedFile is what a server of a slow file is told when it starts.
type ServedFile struct {
	Size    int64
	Heads   int           // requests that it works on at a time
	Keep    bool          // what is written, in memory
	Discard time.Duration // that a discard takes; 0: it takes none
	Backing string        // a file or device that it reads and writes instead, past the page cache; "" for none
}

// open opens what keeps the data, -1 for nothing.
func (s *ServedFile) open() (int, error) {
	switch {
	case s.Backing != "":
		fd, err := unix.Open(s.Backing, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, fmt.Errorf("open what is below a slow file: %w", err)
		}
		return fd, nil
	case !s.Keep:
		return -1, nil
	}
	fd, err := unix.MemfdCreate("iocause-lab-disk", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make room for a disk in memory: %w", err)
	}
	if err := unix.Ftruncate(fd, s.Size); err != nil {
		return -1, fmt.Errorf("make room for a disk in memory: %w", err)
	}
	return fd, nil
}

// ServeDisk answers what the kernel asks of a slow disk, on a connection with
// /dev/fuse that is mounted already, until that is unmounted or commands ends.
// A line of commands is the nanoseconds that a request takes from then on, and is
// answered with what was served so far: reads and writes, and the nanoseconds from
// when each was taken to when it was answered.
func ServeDisk(fd int, file *ServedFile, commands io.Reader, answers io.Writer) error {
	store, err := file.open()
	if err != nil {
		return err
	}
	f := &slowFile{fd: fd, size: file.Size, store: store, discard: file.Discard}
	for range file.Heads {
		go f.serve()
	}
	return f.obey(commands, answers)
}

// obey sets delays and tells what was served, until commands ends.
func (f *slowFile) obey(commands io.Reader, answers io.Writer) error {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		delay, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return fmt.Errorf("a slow disk's delay: %w", err)
		}
		f.delay.Store(delay)
		if _, err := fmt.Fprintln(answers, f.served.Load(), f.took.Load()); err != nil {
			return fmt.Errorf("a slow disk's answer: %w", err)
		}
	}
	return lines.Err()
}

// aligned is room for a message whose data begins at a page, as a file below
// wants it that is read past the page cache.
func aligned(head int) []byte {
	const page = 4096
	b := make([]byte, fuseMostData+3*page)
	at := page - int(uintptr(unsafe.Pointer(&b[0]))%page)
	return b[at+page-head:][:head+fuseMostData]
}

// serve answers requests until the file is unmounted.
func (f *slowFile) serve() {
	request, reply := aligned(fuseInHeader+fuseWriteIn), aligned(fuseOutHeader)
	for {
		n, err := unix.Read(f.fd, request)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOENT): // the last: whoever asked is gone
			continue
		case err != nil || n < fuseInHeader: // ENODEV: unmounted
			return
		}
		taken := time.Now()
		body, errno, silent := f.answer(request[:n], reply[fuseOutHeader:])
		if silent {
			continue
		}
		if op := binary.NativeEndian.Uint32(request[4:]); op == fuseRead || op == fuseWrite {
			f.served.Add(1)
			f.took.Add(int64(time.Since(taken)))
		}
		out := reply[:fuseOutHeader+body]
		binary.NativeEndian.PutUint32(out, uint32(len(out)))
		binary.NativeEndian.PutUint32(out[4:], uint32(-int32(errno)))
		copy(out[8:16], request[8:16]) // which request this answers
		_, _ = unix.Write(f.fd, out)   // fails when whoever asked is gone
	}
}

// wait takes as long as a request shall.
func (f *slowFile) wait() { pass(f.delay.Load()) }

// pass lets so many nanoseconds go by. Not by time.Sleep, which waits a millisecond
// when there is nothing else for the scheduler to do.
func pass(ns int64) {
	left := unix.NsecToTimespec(ns)
	for errors.Is(unix.Nanosleep(&left, &left), unix.EINTR) {
	}
}

// answer fills in what follows the header of a reply, and says how long it is.
func (f *slowFile) answer(request, out []byte) (length int, errno unix.Errno, silent bool) {
	body := request[fuseInHeader:]
	word := binary.NativeEndian
	clear(out[:256])
	switch op := word.Uint32(request[4:]); op {
	case fuseForget, fuseInterrupt, fuseBatchForget:
		return 0, 0, true
	case fuseInit: // struct fuse_init_out
		if len(body) < 8 || word.Uint32(body) != 7 {
			return 0, unix.EPROTO, false
		}
		word.PutUint32(out, 7)
		word.PutUint32(out[4:], min(word.Uint32(body[4:]), 31))
		word.PutUint32(out[12:], fuseAsyncDIO)
		word.PutUint16(out[16:], 64) // requests in the background
		word.PutUint16(out[18:], 48)
		word.PutUint32(out[20:], fuseMostData)
		word.PutUint32(out[24:], 1)
		return 64, 0, false
	case fuseGetattr: // struct fuse_attr_out; valid for an hour
		word.PutUint64(out, 3600)
		attr := out[16:]
		word.PutUint64(attr, 1)
		word.PutUint64(attr[8:], uint64(f.size))
		word.PutUint64(attr[16:], uint64(f.size/512))
		word.PutUint32(attr[60:], unix.S_IFREG|0o600)
		word.PutUint32(attr[64:], 1)
		word.PutUint32(attr[80:], 4096)
		return 16 + 88, 0, false
	case fuseOpen: // struct fuse_open_out
		return 16, 0, false
	case fuseRead:
		if len(body) < 20 {
			return 0, unix.EINVAL, false
		}
		off, size := int64(word.Uint64(body[8:])), min(int64(word.Uint32(body[16:])), int64(len(out)))
		size = max(min(size, f.size-off), 0)
		f.wait()
		clear(out[:size])
		if f.store >= 0 {
			if _, err := unix.Pread(f.store, out[:size], off); err != nil {
				return 0, unix.EIO, false
			}
		}
		return int(size), 0, false
	case fuseWrite: // struct fuse_write_out
		if len(body) < 20 {
			return 0, unix.EINVAL, false
		}
		f.wait()
		if f.store >= 0 {
			if _, err := unix.Pwrite(f.store, body[fuseWriteIn:], int64(word.Uint64(body[8:]))); err != nil {
				return 0, unix.EIO, false
			}
		}
		word.PutUint32(out, word.Uint32(body[16:]))
		return 8, 0, false
	}
	if f.discard > 0 { // else the loop device has none
		switch word.Uint32(request[4:]) {
		case fuseStatFS: // struct fuse_kstatfs: the size of a block, and of a name
			word.PutUint32(out[40:], 4096)
			word.PutUint32(out[44:], 255)
			word.PutUint32(out[48:], 4096)
			return 80, 0, false
		case fuseDiscard: // struct fuse_fallocate_in
			if len(body) < 32 || word.Uint32(body[24:])&unix.FALLOC_FL_PUNCH_HOLE == 0 {
				return 0, unix.EOPNOTSUPP, false
			}
			pass(int64(f.discard))
			if f.store < 0 {
				return 0, 0, false
			}
			const hole = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
			if err := unix.Fallocate(f.store, hole, int64(word.Uint64(body[8:])), int64(word.Uint64(body[16:]))); err != nil {
				return 0, unix.EIO, false
			}
			return 0, 0, false
		}
	}
	// Of the rest the kernel thinks that it is not needed.
	return 0, unix.ENOSYS, false
}
