package sample

import (
	"strconv"
	"time"
)

// IO is one request that a block device completed. Names are data from the
// system and may hold any byte.
type IO struct {
	Start  time.Duration // since the trace's epoch: when the request was made
	Queue  time.Duration // until the device had it; negative where nobody knows
	Device time.Duration // until it was done; the whole time where Queue is not known

	Disk     string // kernel name of the whole block device
	Sector   uint64 // of 512 bytes, from the start of the disk
	Bytes    uint64 // completed
	Flags    IOFlags
	Status   uint8 // the kernel's blk_status_t, 0 well
	Requeues uint16

	PID, TID int // who made the request; for what is written back, a kernel thread
	Comm     string
	Cgroup   string // that the request is charged to; "" when not known
	File     string // "" when not known
}

// Latency is the time from request to completion.
func (io *IO) Latency() time.Duration { return max(io.Queue, 0) + io.Device }

// End is when it was done, since the trace's epoch.
func (io *IO) End() time.Duration { return io.Start + io.Latency() }

// IOFlags is the operation (the kernel's REQ_OP_*, in the lowest 8 bits) and
// the flags below.
type IOFlags uint32

// The flags. Their values are ours: the kernel's move between versions.
const (
	IOPreflush   IOFlags = 1 << (8 + iota) // empty the device's cache first
	IOFUA                                  // on stable storage before it completes
	IOReadahead                            // nobody waits for it yet
	IOSync                                 // somebody waits for it
	IOMeta                                 // of the file system itself
	IOBackground                           // written back in the background
	IOSwap
	IOPolled
	IODirect // past the page cache
)

// Op is the operation: "read", "write", "flush", "discard" or "other".
func (f IOFlags) Op() string {
	switch f & 0xff {
	case 0:
		return ClassRead
	case 1:
		return ClassWrite
	case 2:
		return ClassFlush
	case 3, 5: // discard, secure erase
		return "discard"
	}
	return ClassOther
}

// String writes operation and flags the way blktrace does: F before the
// operation for a flush that goes first, R, W, D (discard), then F (forced to
// stable storage), A (read ahead), S (synchronous), M (metadata). N is any
// other operation.
func (f IOFlags) String() string {
	b := make([]byte, 0, 8)
	if f&IOPreflush != 0 && f&0xff != 2 {
		b = append(b, 'F')
	}
	switch f.Op() {
	case ClassRead:
		b = append(b, 'R')
	case ClassWrite:
		b = append(b, 'W')
	case ClassFlush:
		b = append(b, 'F')
	case "discard":
		b = append(b, 'D')
	default:
		b = append(b, 'N')
	}
	for _, x := range []struct {
		flag   IOFlags
		letter byte
	}{{IOFUA, 'F'}, {IOReadahead, 'A'}, {IOSync, 'S'}, {IOMeta, 'M'}} {
		if f&x.flag != 0 {
			b = append(b, x.letter)
		}
	}
	return string(b)
}

// IOStatus names a blk_status_t (include/linux/blk_types.h) by the errno that
// it becomes (blk_errors in block/blk-core.c); "" for 0. Those above
// BLK_STS_DEV_RESOURCE have changed their numbers between kernels.
func IOStatus(status uint8) string {
	names := [...]string{"", "EOPNOTSUPP", "ETIMEDOUT", "ENOSPC", "ENOLINK", "EREMOTEIO", "EBADE",
		"ENODATA", "EILSEQ", "ENOMEM", "EIO", "EREMCHG", "EAGAIN", "EBUSY"}
	if int(status) < len(names) {
		return names[status]
	}
	return "BLK_STS_" + strconv.Itoa(int(status))
}
