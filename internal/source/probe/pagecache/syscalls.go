package pagecache

import (
	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// Wait classes, in the order of enum wait_class in account.bpf.h.
const (
	waitOther = iota
	waitRead
	waitWrite
	waitSync
	_ // fault
	waitAsync
	waitNames
	waitDoze
	waitFlock
	waitUnnamed
)

// waitClasses names them; they are the Class of wait.io. The last ones are none:
// they are wait.completions, a lock.wait and wait.unnamed. Calls with names are others to who
// reads the account.
func waitClasses() [waitDoze]string {
	return [waitDoze]string{sample.ClassOther, sample.ClassRead, sample.ClassWrite, sample.ClassSync, sample.ClassFault, sample.ClassAsync, sample.ClassOther}
}

// syscallClasses says what a thread blocked in each system call waits for.
func syscallClasses() [512]uint8 {
	var c [512]uint8
	for _, nr := range []int{
		unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2,
		unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE, unix.SYS_TEE,
	} {
		c[nr] = waitRead
	}
	for _, nr := range []int{unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2} {
		c[nr] = waitWrite
	}
	for _, nr := range []int{
		unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE, unix.SYS_MSYNC,
	} {
		c[nr] = waitSync
	}
	for _, nr := range []int{unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS, unix.SYS_IO_URING_ENTER} {
		c[nr] = waitAsync
	}
	for _, nr := range []int{unix.SYS_FLOCK, unix.SYS_FCNTL} {
		c[nr] = waitFlock
	}
	for _, nr := range append(nameCalls(),
		unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_NEWFSTATAT, unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_GETDENTS64, unix.SYS_FACCESSAT,
		unix.SYS_FACCESSAT2, unix.SYS_READLINKAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_CHDIR, unix.SYS_EXECVE,
		unix.SYS_EXECVEAT, unix.SYS_STATFS, unix.SYS_GETXATTR, unix.SYS_LGETXATTR) {
		c[nr] = waitNames
	}
	return c
}

// Ways of reading through the cache, in the order of enum way in account.bpf.h.
const (
	wayRead = iota
	waySplice
	wayCopy
	wayAIO
	wayUring
	_ // a thread of the kernel
	wayOther
)

// ways names them; they are the Class of cache.accesses_by_way.
func ways() [6]string {
	return [6]string{sample.ClassRead, sample.ClassSplice, sample.ClassCopy, sample.ClassAIO, sample.ClassIOUring, sample.ClassKernel}
}

// syscallWays says which way each system call reads. Of the others none reads by itself,
// or hardly any: there it is io_uring's work, of a thread that uses it.
func syscallWays() [512]uint8 {
	var c [512]uint8
	for nr := range c {
		c[nr] = wayOther
	}
	for _, nr := range []int{unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2, unix.SYS_EXECVE, unix.SYS_EXECVEAT} {
		c[nr] = wayRead
	}
	for _, nr := range []int{unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_TEE} {
		c[nr] = waySplice
	}
	c[unix.SYS_COPY_FILE_RANGE] = wayCopy
	c[unix.SYS_IO_SUBMIT] = wayAIO
	c[unix.SYS_IO_URING_ENTER] = wayUring
	return c
}
