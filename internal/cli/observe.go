package cli

import (
	"context"
	"fmt"
	"time"

	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/table"
)

// observed is an observation that is shown interval by interval.
type observed struct {
	tick   time.Duration // from one call of during to the next
	during func() error  // takes in what would get lost within an interval
	follow bool          // a line says how far a long interval is
	next   func(session.Interval) ([]table.Table, error)
	sum    func(length time.Duration) []table.Table // of all intervals; called once, last
}

// showIntervals shows one interval after the other, and sums up if it is
// interrupted.
func (a *app) showIntervals(watch context.Context, o *intervals, p *printer, s *observed) error {
	loop := session.Loop{Every: o.every, Count: o.count, Tick: s.tick, During: s.during}
	line := a.newLine()
	if s.follow && o.every > 2*time.Second {
		line = a.newProgress(o.every, nil)
		loop.Show = func(elapsed time.Duration) {
			line.Draw(func() string { return observing(source.Progress{Elapsed: elapsed, Length: o.every}) })
		}
	}
	defer line.Erase()
	began, shown := time.Now(), 0
	err := loop.Run(watch, func(i session.Interval) error {
		if watch.Err() != nil && shown == 0 && i.Length < session.Shortest {
			return session.TooEarly(watch)
		}
		shown++
		line.Erase()
		tables, err := s.next(i)
		if err != nil {
			return err
		}
		return p.print(i.Start, i.Length, "", tables)
	})
	if err != nil || watch.Err() == nil || shown == 1 || o.format != "text" {
		return err
	}
	length := time.Since(began)
	return p.print(began, length, fmt.Sprintf("in all, %s:", table.Duration(length.Seconds())), s.sum(length))
}
