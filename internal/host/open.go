package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is what has no length and no pages of its own.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a regular file to be read, and nothing else.
func OpenRegular(path string) (*os.File, error) {
	fd, err := OpenKind(path, 0, unix.S_IFREG)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenInside opens a regular file below a root directory as who has that root sees it:
// links lead nowhere else. flags is 0 or O_NOFOLLOW.
func OpenInside(root, path string, flags int) (*os.File, error) {
	fd, err := openInside(root, path, flags)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", filepath.Join(root, path), err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(root, path)), nil
}

func openInside(root, path string, flags int) (int, error) {
	dir, err := openAt(unix.AT_FDCWD, root, unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	at, err := openAt(dir, path, flags, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return -1, err
	}
	return openLocated(at, unix.S_IFREG)
}

// OpenKind opens a file of one of some kinds, such as S_IFREG, to be read. Whoever owns a
// folder decides what a name in it stands for, and to open some devices does something: a
// watchdog resets the machine, a tape is wound back. So what the name stands for is looked
// at first, which asks no driver, and that same thing is opened. flags is 0 or O_NOFOLLOW.
func OpenKind(path string, flags int, kinds ...uint32) (fd int, err error) {
	at, err := openAt(unix.AT_FDCWD, path, flags, 0)
	if err == nil {
		fd, err = openLocated(at, kinds...)
	}
	if err != nil {
		return -1, fmt.Errorf("opening %q: %w", path, err)
	}
	return fd, nil
}

// openAt finds what a path stands for and does not open it.
func openAt(dir int, path string, flags int, resolve uint64) (int, error) {
	flags |= unix.O_PATH | unix.O_CLOEXEC
	for {
		at, err := -1, error(nil)
		if resolve == 0 {
			at, err = unix.Openat(dir, path, flags, 0)
		} else {
			at, err = unix.Openat2(dir, path, &unix.OpenHow{Flags: uint64(flags), Resolve: resolve})
		}
		if err != unix.EINTR {
			return at, err
		}
	}
}

// openLocated opens what was found, and gives up the descriptor by which it was.
func openLocated(at int, kinds ...uint32) (int, error) {
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	if !slices.Contains(kinds, st.Mode&unix.S_IFMT) {
		return -1, ErrNotRegular
	}
	for {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
