package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// interrupted is why the watching ended: the signal that ended it.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return i.signal.String() }

// untilInterrupt is a context that ends with the first SIGINT or SIGTERM,
// which is then its cause. The second one is passed to onSecond, which may be
// nil, and then quits the program, as if it had never been caught. stop gives
// the signals back.
func untilInterrupt(parent context.Context, onSecond func(os.Signal)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		select {
		case <-stopped:
			return
		case s := <-signals:
			cancel(interrupted{s})
		}
		select {
		case <-stopped:
		case s := <-signals:
			if onSecond != nil {
				onSecond(s)
			}
			signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			if n, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), n)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel(nil)
	}
}

// keepBrokenPipes makes writing to a closed pipe an error like any other, so
// that what was begun is ended in order, for as long as stop is not called. The
// signal is caught rather than ignored: a command that is watched would inherit
// that.
func keepBrokenPipes() (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// readerGone tells whether a stream is a pipe or a socket that nobody reads any
// more.
func readerGone(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return false
	}
	ask := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(ask, 0)
	return err == nil && n == 1 && ask[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
