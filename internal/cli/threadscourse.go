package cli

import (
	"context"
	"errors"
	"time"

	"iocause/internal/present/perfetto"
	"iocause/internal/session"
	"iocause/internal/show"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/tool/threads"
	"iocause/internal/version"
)

// followThreads writes interval after interval as one trace.
func followThreads(watch context.Context, s streams, o *threadsOptions, observer *threads.Observer, filter *threads.Filter) error {
	if err := observer.Begin(); err != nil {
		return err
	}
	var w *perfetto.Writer
	var began time.Time
	loop := session.Loop{Every: o.every, Count: o.count, Tick: probe.SweepEvery, During: observer.Sweep}
	err := loop.Run(watch, func(i session.Interval) error {
		if watch.Err() != nil && w == nil && i.Length < session.Shortest {
			return session.TooEarly(watch)
		}
		seen, err := observer.Next()
		if err != nil {
			return err
		}
		if w == nil {
			began = seen.Begin
			if w, err = perfetto.New(s.stdout, version.Program(), began); err != nil {
				return err
			}
		}
		seen.Keep(filter)
		return show.ThreadsCourse(w, seen, began)
	})
	if w == nil {
		return err
	}
	return errors.Join(err, w.Close())
}
