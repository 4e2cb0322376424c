package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// looksHelp ends the long help of commands that show a state rather than what
// happens meanwhile.
const looksHelp = "Without INTERVAL it looks once. With it, it looks every so many seconds (or\n" +
	"500ms, 1m) and shows what changed since the look before; with COUNT that often,\n" +
	"without until Ctrl-C, and then shows what changed since the first."

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
func looks[T any](parent context.Context, a *app, o *intervals, args []string,
	take func(context.Context) (T, error), show func(p *printer, now T, before *T) ([]table.Table, error)) error {
	if err := o.args(args); err != nil {
		return err
	}
	ctx, stop := untilInterrupt(parent, nil)
	defer stop()
	p := a.newPrinter(o)
	began := time.Now()
	print := func(now T, at time.Time, before *T, since time.Duration, label string) error {
		tables, err := show(p, now, before)
		if err != nil {
			return err
		}
		return p.print(at, since, label, tables)
	}
	var first T
	var before *T
	var last time.Time
	for n := 1; ; n++ {
		at := time.Now()
		now, err := take(ctx)
		if ctx.Err() != nil && before == nil {
			return fmt.Errorf("looking: ended by %w before all was seen; let it run on, or look at less", context.Cause(ctx))
		}
		if ctx.Err() != nil { // the look was cut short
			break
		}
		if err != nil {
			return err
		}
		since := at.Sub(last)
		if before == nil {
			since = 0
		}
		if err := print(now, at, before, since, ""); err != nil {
			return err
		}
		if before == nil {
			first = now
		}
		before, last = &now, at
		if len(args) == 0 || n == o.count {
			return nil
		}
		wait := time.NewTimer(time.Until(began.Add(time.Duration(n) * o.every)))
		select {
		case <-wait.C:
			continue
		case <-ctx.Done():
			wait.Stop()
		}
		break
	}
	if parent.Err() != nil {
		return nil
	}
	at := time.Now()
	now, err := take(parent) // a second Ctrl-C quits
	if err != nil {
		return err
	}
	since := at.Sub(began)
	return print(now, at, &first, since, "changes since the first look, "+table.Duration(since.Seconds())+" ago")
}

// counting is a line on standard error that says how far something is, from
// the third second on.
type counting struct {
	app     *app
	doing   string // "files measured"
	began   time.Time
	told    time.Time
	columns int
	inPlace bool
	shown   bool
}

func (a *app) newCounting(doing string) *counting {
	columns, isTerminal := terminalWidth(a.stderr)
	return &counting{app: a, doing: doing, began: time.Now(), columns: columns, inPlace: isTerminal && os.Getenv("TERM") != "dumb"}
}

const (
	quietFor  = 2 * time.Second
	tellAfter = 200 * time.Millisecond
)

// update is called as often as one likes.
func (c *counting) update(n int) {
	now := time.Now()
	if now.Sub(c.began) < quietFor || now.Sub(c.told) < tellAfter || c.shown && !c.inPlace {
		return
	}
	c.told, c.shown = now, true
	line := fmt.Sprintf("%s %s · Ctrl-C ends it", table.Value(float64(n), "count"), c.doing)
	if c.inPlace {
		fmt.Fprintf(c.app.stderr, "\r\x1b[K%s", text.End(line, c.columns-1))
		return
	}
	fmt.Fprintln(c.app.stderr, "iocause: "+line)
}

// erase takes the line away.
func (c *counting) erase() {
	if c.shown && c.inPlace {
		fmt.Fprint(c.app.stderr, "\r\x1b[K")
	}
}

// named is a process for a table: its name and number, the number alone when
// it has ended.
func named(h *host.Host, pid int) string {
	comm, err := os.ReadFile(h.Proc(strconv.Itoa(pid), "comm"))
	if err != nil {
		return fmt.Sprintf("(%d)", pid)
	}
	return fmt.Sprintf("%s (%d)", strings.TrimSuffix(string(comm), "\n"), pid)
}
