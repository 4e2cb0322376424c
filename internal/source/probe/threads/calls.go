package threads

import "golang.org/x/sys/unix"

// Classes of system calls, in the order of enum call_class in thread.bpf.h.
const (
	callOther = iota
	callIdle
	callFutex
	callLock
	callDisk
	callIPC
	callFile // told by the file behind the descriptor
	callFutexNew
)

// callClasses says what a thread that sleeps interruptibly in each system call
// waits for. io_uring_enter is idle because it waits for whatever was asked
// for; where that is block I/O the kernel marks the wait as such.
func callClasses() [512]uint8 {
	var c [512]uint8
	for class, calls := range map[uint8][]int{
		callIdle: {
			unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT,
			unix.SYS_EPOLL_PWAIT2, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT,
			unix.SYS_RESTART_SYSCALL, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_IO_URING_ENTER,
			unix.SYS_CLONE, unix.SYS_CLONE3, // vfork: until the child has another program
		},
		callFutex:    {unix.SYS_FUTEX},
		callFutexNew: {unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_WAITV},
		callLock:     {unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_FLOCK, unix.SYS_FCNTL},
		callDisk:     {unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS},
		callIPC:      {unix.SYS_MSGRCV, unix.SYS_MSGSND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_TIMEDSEND},
		callFile: {
			unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64,
			unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_IOCTL,
			unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
			unix.SYS_CONNECT, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_VMSPLICE, unix.SYS_FALLOCATE, unix.SYS_FSTAT,
			unix.SYS_GETDENTS64, unix.SYS_CLOSE, unix.SYS_FTRUNCATE,
			unix.SYS_FSYNC, unix.SYS_FDATASYNC,
		},
	} {
		for _, nr := range calls {
			c[nr] = class
		}
	}
	for _, nr := range oldCalls() {
		c[nr] = callIdle
	}
	return c
}
