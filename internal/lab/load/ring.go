package load

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of include/uapi/linux/io_uring.h.
const (
	ringOpRead         = 22 // IORING_OP_READ, Linux 5.6
	ringEnterGetEvents = 1  // IORING_ENTER_GETEVENTS
	ringFeatSingleMmap = 1  // IORING_FEAT_SINGLE_MMAP: one mapping has both rings
	ringOffSQEs        = 0x10000000
	ringEntrySize      = 64 // of a struct io_uring_sqe
	ringMost           = 4096
)

// ringParams is struct io_uring_params.
type ringParams struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32
	_                                                                      [3]uint32
	sq                                                                     struct{ head, tail, mask, entries, flags, dropped, array, _, userLow, userHigh uint32 }
	cq                                                                     struct{ head, tail, mask, entries, overflow, cqes, flags, _, userLow, userHigh uint32 }
}

// ringEntry is struct io_uring_sqe as far as reads use it.
type ringEntry struct {
	op, flags uint8
	ioprio    uint16
	fd        int32
	off       uint64
	addr      uint64
	length    uint32
	rwFlags   uint32
	user      uint64
	_         [3]uint64
}

// ringDone is struct io_uring_cqe.
type ringDone struct {
	user  uint64
	res   int32
	flags uint32
}

// ring is an io_uring(7) that one thread uses. Its memory is shared with the
// kernel: heads and tails are read and written atomically, which orders all else.
type ring struct {
	fd             int
	rings, entries []byte
	params         ringParams
	left           uint32 // put, not handed over yet
}

// newRing makes one for so many requests under way.
func newRing(depth int) (*ring, error) {
	r := &ring{}
	size := uint32(1) << bits.Len(uint(depth-1))
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(size), uintptr(unsafe.Pointer(&r.params)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make an io_uring (see kernel.io_uring_disabled): %w", errno)
	}
	r.fd = int(fd)
	if r.params.features&ringFeatSingleMmap == 0 {
		return nil, errors.Join(errors.New("this kernel's io_uring is older than 5.4"), r.close())
	}
	p := &r.params
	length := max(p.sq.array+p.sqEntries*4, p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(ringDone{})))
	var err error
	if r.rings, err = unix.Mmap(r.fd, 0, int(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err == nil {
		r.entries, err = unix.Mmap(r.fd, ringOffSQEs, int(p.sqEntries)*ringEntrySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map an io_uring: %w", err), r.close())
	}
	return r, nil
}

func (r *ring) close() error {
	var errs []error
	for _, mem := range [][]byte{r.rings, r.entries} {
		if mem != nil {
			errs = append(errs, unix.Munmap(mem))
		}
	}
	return errors.Join(append(errs, unix.Close(r.fd))...)
}

// word is a 32-bit field of the shared memory.
func (r *ring) word(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[off])) }

// read puts one read in line. No more may be under way than the ring was made for.
func (r *ring) read(fd int, buf []byte, off int64, user uint64) {
	tail := *r.word(r.params.sq.tail) // which nobody else writes
	i := tail & *r.word(r.params.sq.mask)
	*(*ringEntry)(unsafe.Pointer(&r.entries[i*ringEntrySize])) = ringEntry{
		op: ringOpRead, fd: int32(fd), off: uint64(off), user: user,
		addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))), length: uint32(len(buf)),
	}
	*r.word(r.params.sq.array + i*4) = i
	atomic.StoreUint32(r.word(r.params.sq.tail), tail+1)
	r.left++
}

// enter hands over what is in line and waits for so many completions. As with
// raw, the Go scheduler is not told.
func (r *ring) enter(wait uint32) error {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.left), uintptr(wait), ringEnterGetEvents, 0, 0)
		switch {
		case errno == 0:
			r.left -= uint32(n)
			return nil
		case errno != unix.EINTR && errno != unix.EAGAIN:
			return fmt.Errorf("io_uring_enter: %w", errno)
		}
	}
}

// done takes the oldest completion, if there is one.
func (r *ring) done() (ringDone, bool) {
	head := *r.word(r.params.cq.head)
	if head == atomic.LoadUint32(r.word(r.params.cq.tail)) {
		return ringDone{}, false
	}
	i := head & *r.word(r.params.cq.mask)
	d := *(*ringDone)(unsafe.Pointer(&r.rings[r.params.cq.cqes+i*uint32(unsafe.Sizeof(ringDone{}))]))
	atomic.StoreUint32(r.word(r.params.cq.head), head+1)
	return d, true
}
