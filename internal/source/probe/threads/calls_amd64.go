package threads

import "golang.org/x/sys/unix"

// oldCalls are the idle calls that newer architectures do not have.
func oldCalls() []int {
	return []int{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT, unix.SYS_PAUSE, unix.SYS_VFORK}
}
