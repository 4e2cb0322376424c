package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// slowFile is a file of zeros whose every read and write takes a time that is
// known: the root of a FUSE file system that this process serves. A loop device
// over it is a disk of known latency that no other disk has a part in. It keeps
// what is written in memory, or nothing of it. This process must not use it by calls that the Go
// scheduler is not told of, such as those of the load generator: they wait for
// servers that the scheduler could not start.
//
// The protocol is that of include/uapi/linux/fuse.h, the part of it that a file
// which is mounted by itself needs.
type slowFile struct {
	fd    int
	size  int64
	heads int
	store int          // memory that holds what is written; -1: nothing is kept
	delay atomic.Int64 // nanoseconds that a read or write takes
	left  atomic.Int32 // servers that have not ended
}

const (
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseWrite   = 16
	fuseInit    = 26

	fuseForget      = 2 // these three have no reply
	fuseInterrupt   = 36
	fuseBatchForget = 42

	fuseAsyncDIO  = 1 << 15 // several direct requests under way at a time
	fuseInHeader  = 40      // bytes of struct fuse_in_header
	fuseOutHeader = 16
	fuseMostData  = 128 << 10

	// slowHeads is how many requests such a disk works on at a time.
	slowHeads = 8
)

// SlowDisk makes a loop device of so many bytes on which every request takes so
// long, eight at a time. It keeps nothing and has no file system.
func (e *Env) SlowDisk(name string, size int64, delay time.Duration) (*LoopDisk, error) {
	return e.slowDisk(name, &slowFile{size: size, heads: slowHeads, store: -1}, delay)
}

// MemoryDisk is a slow disk that keeps what is written, in memory, and works on so
// many requests at a time: room for a file system whose disk has no part in the
// speed of any other.
func (e *Env) MemoryDisk(name string, size int64, heads int, delay time.Duration) (*LoopDisk, error) {
	store, err := unix.MemfdCreate("iocause-lab-disk", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make room for a disk in memory: %w", err)
	}
	if err := unix.Ftruncate(store, size); err != nil {
		return nil, errors.Join(fmt.Errorf("make room for a disk in memory: %w", err), unix.Close(store))
	}
	return e.slowDisk(name, &slowFile{size: size, heads: heads, store: store}, delay)
}

// slowDisk serves a file and puts a loop device over it.
func (e *Env) slowDisk(name string, f *slowFile, delay time.Duration) (*LoopDisk, error) {
	image := filepath.Join(e.scratch, name+".img")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return nil, fmt.Errorf("make a place for a slow disk: %w", err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/fuse: %w", err)
	}
	if err := e.journal.add(record{Kind: "mount", Path: image}); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	if err := unix.Mount("iocause-lab", image, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=100600,user_id=0,group_id=0", fd)); err != nil {
		return nil, errors.Join(fmt.Errorf("mount a slow disk: %w", err), unix.Close(fd))
	}
	f.fd = fd
	f.delay.Store(int64(delay))
	f.left.Store(int32(f.heads))
	for range f.heads {
		go f.serve()
	}
	if e.slow == nil {
		e.slow = map[string]*slowFile{}
	}
	e.slow[name] = f
	device, err := e.attach(image, true)
	if err != nil {
		return nil, err
	}
	// With the last who has it open, all of it that is cached would go.
	open, err := unix.Open(device, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keep a slow disk open: %w", err)
	}
	e.stop = append(e.stop, func() { _ = unix.Close(open) })
	return &LoopDisk{Device: filepath.Base(device), Dir: device}, nil
}

// Slow sets how long each request of a slow disk takes from now on.
func (e *Env) Slow(name string, delay time.Duration) error {
	f := e.slow[name]
	if f == nil {
		return fmt.Errorf("no slow disk is called %q", name)
	}
	f.delay.Store(int64(delay))
	return nil
}

// serve answers requests until the file is unmounted. The last server to end
// closes the connection.
func (f *slowFile) serve() {
	defer func() {
		if f.left.Add(-1) == 0 {
			_ = unix.Close(f.fd) // nobody is left to tell
			if f.store >= 0 {
				_ = unix.Close(f.store)
			}
		}
	}()
	request := make([]byte, fuseMostData+4096)
	reply := make([]byte, fuseOutHeader+fuseMostData)
	for {
		n, err := unix.Read(f.fd, request)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOENT): // the last: whoever asked is gone
			continue
		case err != nil || n < fuseInHeader: // ENODEV: unmounted
			return
		}
		body, errno, silent := f.answer(request[:n], reply[fuseOutHeader:])
		if silent {
			continue
		}
		out := reply[:fuseOutHeader+body]
		binary.NativeEndian.PutUint32(out, uint32(len(out)))
		binary.NativeEndian.PutUint32(out[4:], uint32(-int32(errno)))
		copy(out[8:16], request[8:16]) // which request this answers
		_, _ = unix.Write(f.fd, out)   // fails when whoever asked is gone
	}
}

// wait takes as long as a request shall. Not by time.Sleep, which waits a
// millisecond when there is nothing else for the scheduler to do.
func (f *slowFile) wait() {
	left := unix.NsecToTimespec(f.delay.Load())
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
			const head = 40 // bytes of struct fuse_write_in
			if _, err := unix.Pwrite(f.store, body[head:], int64(word.Uint64(body[8:]))); err != nil {
				return 0, unix.EIO, false
			}
		}
		word.PutUint32(out, word.Uint32(body[16:]))
		return 8, 0, false
	}
	// Of the rest the kernel thinks that it is not needed.
	return 0, unix.ENOSYS, false
}
