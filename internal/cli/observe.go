package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
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
	// next is what an interval shows. Where figures are of a window that does not
	// begin and end at the very instant of the interval, it gives it those of the window.
	next func(*session.Interval) ([]table.Table, error)
	sum  func(length time.Duration) ([]table.Table, error) // of all intervals; called once, last
}

// showIntervals shows one interval after the other, and sums up if it is
// interrupted.
func showIntervals(watch context.Context, notes io.Writer, o *intervals, p *printer, s *observed) error {
	loop := session.Loop{Every: o.every, Count: o.count, Tick: s.tick, During: s.during}
	line := newLine(notes)
	if s.follow && o.every > 2*time.Second {
		line = newProgress(notes, o.every, nil)
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
		tables, err := s.next(&i)
		if err != nil {
			return err
		}
		return p.print(i.Start, i.Length, "", tables)
	})
	if err != nil || watch.Err() == nil || shown == 1 || o.format != "text" {
		return err
	}
	length := time.Since(began)
	tables, err := s.sum(length)
	if err != nil {
		return err
	}
	return p.print(began, length, fmt.Sprintf("in all, %s:", table.Duration(length.Seconds())), tables)
}

// arrangedPrinter prints tables that come sorted and cut. width is that of the
// terminal; 0: the output is for programs.
func arrangedPrinter(s streams, o *intervals) (p *printer, width int) {
	as := *o
	as.sort, as.top = "", 0
	p = newPrinter(s, &as)
	if o.format == "text" {
		width = cmp.Or(p.style.Width, 80)
	}
	return p, width
}

// checkSort refuses a column that there is not.
func checkSort(columns []table.Column, sort string) error {
	t := table.Table{Columns: columns}
	if err := t.Sort(sort); err != nil {
		return &usageError{fmt.Errorf("reading --sort: %w", err), "give one of these"}
	}
	return nil
}
