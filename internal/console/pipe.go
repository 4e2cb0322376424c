package console

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// KeepBrokenPipes makes writing to a closed pipe an error like any other, so
// that what was begun is ended in order, for as long as stop is not called. The
// signal is caught rather than ignored: a command that is watched would inherit
// that.
func KeepBrokenPipes() (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// ReaderGone tells whether a stream is a pipe or a socket that nobody reads any
// more.
func ReaderGone(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return false
	}
	ask := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(ask, 0)
	return err == nil && n == 1 && ask[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
