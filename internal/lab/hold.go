package lab

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// HoldMemory takes all available memory but leave bytes away from the host,
// so that a page cache of leave bytes is all there is. The memory goes to the
// pool of huge pages: in contrast to anonymous memory nobody needs to touch
// it, which on a virtual machine takes 3 ms a megabyte the first time. When
// programs need more than half of what was left, they get it back at once.
func (e *Env) HoldMemory(leave int64) error {
	pool := e.host.Proc("sys/vm/nr_hugepages")
	held, err := host.ReadNumber(pool)
	if err != nil {
		return fmt.Errorf("see the pool of huge pages: %w", err)
	}
	size, err := memInfo(e.host, "Hugepagesize")
	if err != nil {
		return err
	}
	available, err := memInfo(e.host, "MemAvailable")
	if err != nil {
		return err
	}
	if available <= leave {
		return nil
	}
	if err := e.SetFile(pool, strconv.FormatUint(held, 10)); err != nil { // for the journal
		return err
	}
	if err := fillPool(e.host, pool, size, leave); err != nil {
		return err
	}
	if err := e.holdRest(leave); err != nil {
		return err
	}
	ended := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { guard(e.host, pool, size, leave, ended) })
	e.stop = append(e.stop, func() { close(ended); wait.Wait() })
	return nil
}

// fillPool asks for huge pages until enough memory is gone. The kernel gives
// up on the first page that it cannot put together: then it is told to
// compact memory and, should that not do, to drop what is cached, which would
// be pushed out anyway.
func fillPool(h *host.Host, pool string, size, leave int64) error {
	for try := range 8 {
		held, err := host.ReadNumber(pool)
		if err != nil {
			return fmt.Errorf("see the pool of huge pages: %w", err)
		}
		available, err := memInfo(h, "MemAvailable")
		if err != nil {
			return err
		}
		if available < leave+128<<20 {
			return nil
		}
		switch {
		case try == 0:
		case try < 3:
			err = os.WriteFile(h.Proc("sys/vm/compact_memory"), []byte("1"), 0)
		default:
			err = os.WriteFile(h.Proc("sys/vm/drop_caches"), []byte("1"), 0)
		}
		if err == nil {
			err = os.WriteFile(pool, strconv.AppendInt(nil, int64(held)+(available-leave)/size, 10), 0)
		}
		if err != nil {
			return fmt.Errorf("hold memory: %w", err)
		}
	}
	return nil
}

// holdRest takes what huge pages could not be made of: where memory has been
// in use for long it is in pieces too small for them.
func (e *Env) holdRest(leave int64) error {
	for range 4 {
		available, err := memInfo(e.host, "MemAvailable")
		if err != nil {
			return err
		}
		size := int(available - leave)
		if size < 128<<20 {
			return nil
		}
		m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
		if err != nil {
			return fmt.Errorf("hold %d MiB of memory: %w", size>>20, err)
		}
		e.stop = append(e.stop, func() { _ = unix.Munmap(m) })
	}
	return nil
}

// guard shrinks the pool when memory runs short. What it cannot read or write
// it tries again soon; at the end the pool is put right in any case.
func guard(h *host.Host, pool string, size, leave int64, ended <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		available, err := memInfo(h, "MemAvailable")
		if err != nil || available > leave/2 {
			continue
		}
		if held, err := host.ReadNumber(pool); err == nil {
			give := max((leave-available)/size, 1)
			_ = os.WriteFile(pool, strconv.AppendInt(nil, max(int64(held)-give, 0), 10), 0)
		}
	}
}

// memInfo is one line of /proc/meminfo, in bytes.
func memInfo(h *host.Host, name string) (int64, error) {
	found, err := h.Meminfo(name)
	if err != nil {
		return 0, err
	}
	if found[0] == nil {
		return 0, fmt.Errorf("/proc/meminfo has no %s", name)
	}
	return int64(*found[0]), nil
}
