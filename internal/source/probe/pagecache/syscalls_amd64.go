package pagecache

import "golang.org/x/sys/unix"

// nameCalls are calls with names that only older architectures have.
func nameCalls() []int {
	return []int{unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_GETDENTS, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_MKDIR}
}
