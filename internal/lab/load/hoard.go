package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hoardStep is how much memory is taken between two looks at how much is left.
const hoardStep = 16 << 20

// lastStep is the same near the end of a hoard that leaves so much available.
const lastStep = 1 << 20

// ErrScarce says that memory ran short while it was taken.
var ErrScarce = errors.New("memory is running short")

// HoardSpec says which memory to take. Either Size or Leave is above zero.
type HoardSpec struct {
	Size  int64 // bytes to take
	Leave int64 // or: bytes of MemAvailable to leave
	Tmpfs bool  // pages of a file in the kernel's own tmpfs, not anonymous ones
	Lock  bool  // keep them out of the swap
	Floor int64 // give up when less is available; 0: never
}

// Hoard is memory that is held until Release.
type Hoard struct {
	spec   HoardSpec
	file   int // memfd, -1 when anonymous
	chunks [][]byte
	held   int64
}

// Take takes memory and touches every page of it. progress, if not nil, is
// told how much is held and how much it shall be. What was taken before an
// error, which may be that of ctx, is given back.
func Take(ctx context.Context, spec HoardSpec, progress func(held, want int64)) (*Hoard, error) {
	h := &Hoard{spec: spec, file: -1}
	if err := h.fill(ctx, progress); err != nil {
		return nil, errors.Join(err, h.Release())
	}
	return h, nil
}

func (h *Hoard) fill(ctx context.Context, progress func(held, want int64)) error {
	if h.spec.Tmpfs {
		fd, err := newTmpfsFile()
		if err != nil {
			return err
		}
		h.file = fd
	}
	for {
		available, err := memAvailable()
		if err != nil {
			return err
		}
		rest := h.spec.Size - h.held
		if h.spec.Leave > 0 {
			rest = available - h.spec.Leave
		}
		if progress != nil {
			progress(h.held, h.held+max(rest, 0))
		}
		rest = rest / pageSize * pageSize
		switch {
		case rest <= 0 || h.spec.Leave > 0 && rest < lastStep/4:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case available < h.spec.Floor:
			return fmt.Errorf("%w: %d MiB are available, of which %d MiB must stay", ErrScarce, available>>20, h.spec.Floor>>20)
		}
		step := min(rest, hoardStep)
		if h.spec.Leave > 0 && rest < 4*hoardStep {
			step = min(rest, lastStep)
		}
		if err := h.grow(int(step)); err != nil {
			return err
		}
	}
}

// newTmpfsFile is a memfd: a file in tmpfs like any other, that has no name.
// Nobody has to mount anything, and it goes with the process.
func newTmpfsFile() (int, error) {
	fd, err := unix.MemfdCreate("iocause-lab-eat", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make a file in tmpfs: %w", err)
	}
	return fd, nil
}

// grow takes size bytes more, a multiple of the page size.
func (h *Hoard) grow(size int) error {
	flags := unix.MAP_PRIVATE | unix.MAP_ANON
	offset := int64(0)
	if h.file >= 0 {
		flags, offset = unix.MAP_SHARED, h.held
		if err := unix.Ftruncate(h.file, h.held+int64(size)); err != nil {
			return fmt.Errorf("grow the file in tmpfs to %d bytes: %w", h.held+int64(size), err)
		}
	}
	mem, err := unix.Mmap(h.file, offset, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return fmt.Errorf("map %d bytes of memory: %w", size, err)
	}
	h.chunks = append(h.chunks, mem)
	// Kernels without huge pages refuse the advice, which then is not needed.
	if err := unix.Madvise(mem, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("madvise: %w", err)
	}
	for at := 0; at < size; at += pageSize {
		mem[at] = 1
	}
	if h.spec.Lock {
		if err := unix.Mlock(mem); err != nil {
			return fmt.Errorf("lock %d bytes more than %d in memory (see ulimit -l): %w", size, h.held, err)
		}
	}
	h.held += int64(size)
	return nil
}

// Held is how many bytes were taken.
func (h *Hoard) Held() int64 { return h.held }

// Resident is how many bytes of it are in memory now, by mincore(2). What is
// missing was swapped out.
func (h *Hoard) Resident() (int64, error) {
	pages := int64(0)
	for _, c := range h.chunks {
		vec := make([]byte, (len(c)+pageSize-1)/pageSize)
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&c[0])), uintptr(len(c)), uintptr(unsafe.Pointer(&vec[0])))
		if errno != 0 {
			return 0, fmt.Errorf("see which pages are in memory (mincore): %w", errno)
		}
		for _, v := range vec {
			pages += int64(v & 1)
		}
	}
	return pages * pageSize, nil
}

// Release gives all of it back.
func (h *Hoard) Release() error {
	var errs []error
	for _, c := range h.chunks {
		errs = append(errs, unix.Munmap(c))
	}
	h.chunks, h.held = nil, 0
	if h.file >= 0 {
		errs = append(errs, unix.Close(h.file))
		h.file = -1
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}

// EndWithParent has the kernel send SIGTERM when the parent of this process
// dies, for as long as the calling goroutine runs: the request belongs to its
// thread, which it keeps from now on. It fails when the parent is gone
// already; parent is os.Getppid() at the start of the program.
func EndWithParent(parent int) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("ask to be told when the parent dies: %w", err)
	}
	if now := os.Getppid(); now != parent {
		return fmt.Errorf("the parent (process %d) has ended", parent)
	}
	return nil
}

// DieFirst makes this process the kernel's first choice when memory runs out.
func DieFirst() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil {
		return fmt.Errorf("make this process the first to be killed: %w", err)
	}
	return nil
}

// hoardTick is how often a hoard is looked after.
const hoardTick = 250 * time.Millisecond

// Keep holds the memory until ctx ends, or until less than the floor is
// available: then others need it more.
func (h *Hoard) Keep(ctx context.Context) error {
	tick := time.NewTicker(hoardTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		available, err := memAvailable()
		if err != nil {
			return err
		}
		if available < h.spec.Floor/2 {
			return fmt.Errorf("%w: %d MiB are available, and at %d MiB all is freed", ErrScarce, available>>20, h.spec.Floor>>21)
		}
	}
}
