package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupt is a context that ends with the first SIGINT or SIGTERM. The
// second one is passed to onSecond and then quits the program, as if it had
// never been caught. stop gives the signals back.
func untilInterrupt(parent context.Context, onSecond func(os.Signal)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		select {
		case <-stopped:
			return
		case <-signals:
			cancel()
		}
		select {
		case <-stopped:
		case s := <-signals:
			onSecond(s)
			signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			if n, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), n)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel()
	}
}
