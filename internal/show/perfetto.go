package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"iocause/internal/present/perfetto"
	"iocause/internal/session"
	"iocause/internal/tool/threads"
)

// ThreadsCourse writes what threads did in an interval, of a trace whose times are
// counted from began: which share of the interval each was in each state. Threads that
// were idle all the time are left out.
func ThreadsCourse(w *perfetto.Writer, t *threads.Threads, began time.Time) error {
	for i := range t.Threads {
		u := &t.Threads[i]
		var figures []perfetto.Figure
		for _, s := range t.Shares(u) {
			figures = append(figures, perfetto.Figure{Name: s.State, Value: s.Of})
		}
		if err := w.Count(u.PID, string(u.Process), fmt.Sprintf("%s %d", u.Comm, u.TID), t.Begin.Sub(began), figures); err != nil {
			return err
		}
	}
	return nil
}

// FollowThreads writes what next returns for each interval of a loop as one trace by
// program.
func FollowThreads(watch context.Context, to io.Writer, program string, loop *session.Loop, next func() (*threads.Threads, error)) error {
	var w *perfetto.Writer
	var began time.Time
	err := loop.Run(watch, func(i session.Interval) error {
		if watch.Err() != nil && w == nil && i.Length < session.Shortest {
			return session.TooEarly(watch)
		}
		seen, err := next()
		if err != nil {
			return err
		}
		if w == nil {
			began = seen.Begin
			if w, err = perfetto.New(to, program, began); err != nil {
				return err
			}
		}
		return ThreadsCourse(w, seen, began)
	})
	if w == nil {
		return err
	}
	return errors.Join(err, w.Close())
}
