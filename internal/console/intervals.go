package console

import (
	"context"
	"fmt"
	"time"

	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/table"
)

// Observed is an observation that is shown interval by interval.
type Observed struct {
	Tick   time.Duration // from one call of During to the next
	During func() error  // takes in what would get lost within an interval
	Follow bool          // a line says how far a long interval is
	// Next is what an interval shows. Where figures are of a window that does not
	// begin and end at the very instant of the interval, it gives it those of the window.
	Next func(*session.Interval) ([]table.Table, error)
	Sum  func(length time.Duration) ([]table.Table, error) // of all intervals; called once, last
}

// Show shows one interval after the other, and sums up if it is interrupted.
func (s *Observed) Show(watch context.Context, p *Printer, every time.Duration, count int) error {
	loop := session.Loop{Every: every, Count: count, Tick: s.Tick, During: s.During}
	line := NewLine(p.stderr)
	if s.Follow && every > 2*time.Second {
		line = NewProgress(p.stderr, every, nil)
		loop.Show = func(elapsed time.Duration) {
			line.Draw(func() string { return Observing(source.Progress{Elapsed: elapsed, Length: every}) })
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
		tables, err := s.Next(&i)
		if err != nil {
			return err
		}
		return p.Print(i.Start, i.Length, "", tables)
	})
	if err != nil || watch.Err() == nil || shown == 1 || p.Form.Format != "text" {
		return err
	}
	length := time.Since(began)
	tables, err := s.Sum(length)
	if err != nil {
		return err
	}
	return p.Print(began, length, fmt.Sprintf("in all, %s:", table.Duration(length.Seconds())), tables)
}

// Snapshots takes the state of something again and again, and prints it with what
// changed since the one before, nil for the first. The state is what take returns.
func Snapshots[T any](parent context.Context, p *Printer, every time.Duration, count int,
	take func(context.Context) (*T, error), show func(p *Printer, now, before *T) ([]table.Table, error)) error {
	ctx, stop := session.UntilInterrupt(parent, nil)
	defer stop()
	began := time.Now()
	print := func(now *T, at time.Time, before *T, since time.Duration, label string) error {
		tables, err := show(p, now, before)
		if err != nil {
			return err
		}
		return p.Print(at, since, label, tables)
	}
	first, err := take(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted by %w before everything was read; let it finish, or select fewer paths or processes", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	if err := print(first, began, nil, 0, ""); err != nil || count == 1 {
		return err
	}
	before, last := first, began
	loop := session.Loop{Every: every, Count: max(count-1, 0)}
	err = loop.Run(ctx, func(session.Interval) error {
		if ctx.Err() != nil {
			return nil
		}
		at := time.Now()
		now, err := take(ctx)
		if ctx.Err() != nil { // the look was cut short
			return nil
		}
		if err != nil {
			return err
		}
		was, since := before, at.Sub(last)
		before, last = now, at
		return print(now, at, was, since, "")
	})
	if err != nil || ctx.Err() == nil || parent.Err() != nil {
		return err
	}
	at := time.Now()
	now, err := take(parent) // a second Ctrl-C quits
	if err != nil {
		return err
	}
	since := at.Sub(began)
	return print(now, at, first, since, "changes since the first snapshot, "+table.Duration(since.Seconds())+" ago")
}
