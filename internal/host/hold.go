package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SpareSelf lowers the score by which the kernel chooses what to end when memory
// runs out, if ours is higher.
func (h *Host) SpareSelf(score int) error {
	path := h.Proc("self", "oom_score_adj")
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading its own score: %w", err)
	}
	if now, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && now <= score {
		return nil
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(score)), 0); err != nil {
		return fmt.Errorf("lowering its own score: %w", err)
	}
	return nil
}

// LockProgram keeps our program in memory: its pages that are there, and those
// that come. Pages of a program are page cache, which the kernel drops when
// memory is short, and each look at the machine would then wait for the disk
// that is to be looked at.
func (h *Host) LockProgram() error {
	exe, err := os.Readlink(h.Proc("self", "exe"))
	if err != nil {
		return fmt.Errorf("finding its own program: %w", err)
	}
	text, err := os.ReadFile(h.Proc("self", "maps"))
	if err != nil {
		return fmt.Errorf("reading its own mappings: %w", err)
	}
	var errs []error
	for m := range Mappings(text) {
		if m.Path != exe {
			continue
		}
		if err := lockRange(uintptr(m.Start), uintptr(m.End-m.Start)); err != nil {
			errs = append(errs, fmt.Errorf("locking %d bytes of the program: %w", m.End-m.Start, err))
		}
	}
	return errors.Join(errs...)
}

// lockRange is mlock2(2) with MLOCK_ONFAULT: nothing is read for it.
func lockRange(from, length uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MLOCK2, from, length, unix.MLOCK_ONFAULT); errno != 0 {
		return errno
	}
	return nil
}
