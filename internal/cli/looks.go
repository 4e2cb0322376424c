package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"iocause/internal/session"
	"iocause/internal/table"
)

// splitInterval takes [INTERVAL [COUNT]] off the end of arguments that begin
// with paths. A file whose name is a number is written ./5.
func splitInterval(args []string) (paths, rest []string) {
	at := len(args)
	for at > 0 && len(args)-at < 2 && isInterval(args[at-1]) {
		at--
	}
	return args[:at], args[at:]
}

func isInterval(s string) bool {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	if _, err := interval(s); err != nil {
		return false
	}
	_, err := os.Lstat(s)
	return err != nil
}

// looks takes the state of something again and again, and prints it with what
// changed since the one before. The state is what take returns.
func looks[T any](parent context.Context, s streams, o *intervals, args []string,
	take func(context.Context) (T, error), show func(p *printer, now T, before *T) ([]table.Table, error)) error {
	if err := o.args(args); err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(parent, nil)
	defer stop()
	p := newPrinter(s, o)
	began := time.Now()
	print := func(now T, at time.Time, before *T, since time.Duration, label string) error {
		tables, err := show(p, now, before)
		if err != nil {
			return err
		}
		return p.print(at, since, label, tables)
	}
	first, err := take(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted by %w before everything was read; let it finish, or ask for less (fewer paths or processes)", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	if err := print(first, began, nil, 0, ""); err != nil || len(args) == 0 || o.count == 1 {
		return err
	}
	before, last := first, began
	loop := session.Loop{Every: o.every, Count: max(o.count-1, 0)}
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
		return print(now, at, &was, since, "")
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
	return print(now, at, &first, since, "changes since the first look, "+table.Duration(since.Seconds())+" ago")
}

// counting says how many of something are done, from the third second on.
type counting struct {
	*session.Line
	doing string // "files measured"
}

func newCounting(notes io.Writer, doing string) *counting {
	line := newLine(notes)
	line.After, line.Every = 2*time.Second, 200*time.Millisecond
	return &counting{line, doing}
}

// update is called as often as one likes.
func (c *counting) update(n int) {
	c.Tell(func() string { return table.Value(float64(n), "count") + " " + c.doing })
}
