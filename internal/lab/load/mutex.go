package load

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mutex is a lock that threads wait for in the kernel, in the same way as for a
// mutex of glibc: 0 is free, 1 is taken, 2 is taken and somebody waits (Ulrich
// Drepper, Futexes Are Tricky, 2011, mutex2). A sync.Mutex parks goroutines,
// which looks like a thread without work.
type mutex struct{ word atomic.Uint32 }

// linux/futex.h
const (
	futexWait = 0 | 128 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	futexWake = 1 | 128
)

func (m *mutex) futex(op int, value uint32) {
	// EAGAIN and EINTR are told by the word, which is looked at again.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&m.word)), uintptr(op), uintptr(value), 0, 0, 0)
}

func (m *mutex) lock() {
	if m.word.CompareAndSwap(0, 1) {
		return
	}
	for m.word.Swap(2) != 0 {
		m.futex(futexWait, 2)
	}
}

func (m *mutex) unlock() {
	if m.word.Swap(0) == 2 {
		m.futex(futexWake, 1)
	}
}

// takeTurn holds the lock that all threads share for a millisecond.
func takeTurn(w *worker, _, _ int64) (int64, error) {
	w.turn.lock()
	defer w.turn.unlock()
	pause := unix.NsecToTimespec(int64(time.Millisecond))
	for unix.Nanosleep(&pause, &pause) != nil { // a signal of the Go runtime
	}
	return 0, nil
}
