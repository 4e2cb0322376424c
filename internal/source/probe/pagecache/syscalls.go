package pagecache

import "golang.org/x/sys/unix"

// Wait classes, in the order of enum wait_class in account.bpf.h.
const (
	waitOther = iota
	waitRead
	waitWrite
	waitSync
	_ // fault
	waitAsync
	waitDoze
)

// waitClasses names them; they are the Class of wait.io. The last one is none:
// it is wait.completions.
func waitClasses() [waitDoze]string {
	return [waitDoze]string{"other", "read", "write", "sync", "fault", "async"}
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
	return c
}

// Ways of reading through the cache, in the order of enum way in account.bpf.h.
const (
	_ = iota // read
	waySplice
	wayCopy
	wayAIO
	wayUring
)

// ways names them; they are the Class of cache.visits_by_way.
func ways() [6]string { return [6]string{"read", "splice", "copy", "aio", "io_uring", "kernel"} }

// syscallWays says which way each system call reads; all that are not named
// count as read.
func syscallWays() [512]uint8 {
	var c [512]uint8
	for _, nr := range []int{unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_TEE} {
		c[nr] = waySplice
	}
	c[unix.SYS_COPY_FILE_RANGE] = wayCopy
	c[unix.SYS_IO_SUBMIT] = wayAIO
	c[unix.SYS_IO_URING_ENTER] = wayUring
	return c
}
