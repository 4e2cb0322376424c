package locks

import (
	"maps"

	"golang.org/x/sys/unix"
)

// callNames are the calls that wait for locks of the kernel in practice, by
// their number.
func callNames() map[int]string {
	names := map[int]string{
		unix.SYS_MMAP: "mmap", unix.SYS_MUNMAP: "munmap", unix.SYS_MREMAP: "mremap", unix.SYS_MPROTECT: "mprotect",
		unix.SYS_BRK: "brk", unix.SYS_MADVISE: "madvise", unix.SYS_MSYNC: "msync", unix.SYS_MINCORE: "mincore",
		unix.SYS_READ: "read", unix.SYS_PREAD64: "pread64", unix.SYS_READV: "readv", unix.SYS_PREADV: "preadv", unix.SYS_PREADV2: "preadv2",
		unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_WRITEV: "writev", unix.SYS_PWRITEV: "pwritev", unix.SYS_PWRITEV2: "pwritev2",
		unix.SYS_SENDFILE: "sendfile", unix.SYS_SPLICE: "splice", unix.SYS_COPY_FILE_RANGE: "copy_file_range",
		unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FALLOCATE: "fallocate",
		unix.SYS_LSEEK: "lseek", unix.SYS_OPENAT: "openat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat",
		unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_GETDENTS64: "getdents64", unix.SYS_STATX: "statx",
		unix.SYS_OPENAT2: "openat2", unix.SYS_LINKAT: "linkat", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_FACCESSAT: "faccessat", unix.SYS_FACCESSAT2: "faccessat2",
		unix.SYS_FCHMODAT: "fchmodat", unix.SYS_UTIMENSAT: "utimensat", unix.SYS_TRUNCATE: "truncate", unix.SYS_CLOSE: "close", unix.SYS_SYNCFS: "syncfs",
		unix.SYS_IO_SUBMIT: "io_submit", unix.SYS_IO_URING_ENTER: "io_uring_enter", unix.SYS_FUTEX: "futex",
		unix.SYS_CLONE: "clone", unix.SYS_CLONE3: "clone3", unix.SYS_EXECVE: "execve", unix.SYS_EXIT_GROUP: "exit_group",
	}
	maps.Copy(names, oldCallNames())
	return names
}

// changesFiles tells whether what a thread waits in may change a file or a
// directory: a write to a map is a page fault.
func changesFiles(call string) bool {
	switch call {
	case "page fault", "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "splice", "copy_file_range", "ftruncate", "truncate", "fallocate",
		"open", "openat", "openat2", "creat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "rename", "renameat", "renameat2",
		"link", "linkat", "symlink", "symlinkat", "fchmodat", "utimensat", "close", "msync", "io_submit", "io_uring_enter":
		return true
	}
	return false
}
