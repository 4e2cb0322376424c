// Package session is what a run of a command that watches is made of: the
// intervals that it is cut into, the interrupt that ends it, the line that says
// how far it is, and the command that it may have started.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is why the watching ended: the signal that ended it.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return i.signal.String() }

// UntilInterrupt is a context that ends with the first SIGINT or SIGTERM,
// which is then its cause. The second one is passed to onSecond, which may be
// nil, and then quits the program, as if it had never been caught. stop gives
// the signals back.
func UntilInterrupt(parent context.Context, onSecond func(os.Signal)) (ctx context.Context, stop func()) {
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

// SignalOf is the signal to pass on: the one that ended the watching.
func SignalOf(watch context.Context) os.Signal {
	var i interrupted
	if errors.As(context.Cause(watch), &i) {
		return i.signal
	}
	return syscall.SIGINT
}

// TooEarly is the error of a run that was ended before it had seen anything.
func TooEarly(watch context.Context) error {
	return fmt.Errorf("watching: ended by %w before anything was observed; let it run for a second or more", context.Cause(watch))
}
