package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ReleaseProgram takes the pages of the program's own code and constants out of
// this process: what it needed once, as to load kernel programs, stays resident
// else. They remain in the page cache, from where each that is used again is
// mapped again, without I/O unless the machine needed the memory meanwhile.
func ReleaseProgram() error {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("releasing pages of the program: %w", err)
	}
	smaps, err := Read("/proc/self/smaps", nil)
	if err != nil {
		return fmt.Errorf("releasing pages of the program: %w", err)
	}
	var errs []error
	for _, m := range unchanged(smaps, path) {
		if err := releaseRange(uintptr(m.Start), uintptr(m.End-m.Start)); err != nil {
			errs = append(errs, fmt.Errorf("releasing pages of the program: %w", err))
		}
	}
	return errors.Join(errs...)
}

// releaseRange is madvise(2), of pages that LockProgram has locked as well, of which
// those that are used again are locked anew. Before Linux 5.18 locked ones stay.
func releaseRange(from, length uintptr) error {
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, from, length, unix.MADV_DONTNEED_LOCKED)
	if errno == unix.EINVAL {
		_, _, errno = unix.Syscall(unix.SYS_MADVISE, from, length, unix.MADV_DONTNEED)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// unchanged are the mappings of a file in smaps (proc_pid_smaps(5)) that nobody may
// write to, and no page of which is other than in the file: who traces a process
// may have put break points in.
func unchanged(smaps []byte, path string) (all []Mapping) {
	var at Mapping
	for len(smaps) > 0 {
		var line []byte
		line, smaps = Line(smaps)
		if m, ok := parseMapping(line); ok {
			at = m
			continue
		}
		if kept, ok := bytes.CutPrefix(line, []byte("Anonymous:")); ok && at.Path == path && at.Inode != 0 && !at.Writable &&
			string(bytes.TrimSpace(kept)) == "0 kB" {
			all = append(all, at)
		}
	}
	return all
}
