package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/table"
)

// intervals is what every observation command takes: [INTERVAL [COUNT]] and
// the flags that say what is shown, and how.
type intervals struct {
	every  time.Duration
	count  int // 0: until it is interrupted
	top    int // rows of each table, 0 all
	sort   string
	format string
	stamp  bool
}

// intervalUsage follows a command's name in its usage line.
const intervalUsage = "[INTERVAL [COUNT]] [flags]"

// firstLook is how long a command without INTERVAL watches, once.
const firstLook = 5 * time.Second

// bind adds the flags. sort is the key of the column that tables are sorted by; more
// are formats besides those that every command has.
func (o *intervals) bind(c *cobra.Command, sort string, more ...string) {
	f := c.Flags()
	f.Var(ask.RowsIn(&o.top, 20), "top", "rows of each table; 0: all")
	f.StringVar(&o.sort, "sort", sort, "sort by column (JSON name)")
	help := "text, json or csv (the first table)"
	if len(more) > 0 {
		help = "text, json, csv (the first table) or " + ask.Or(more)
	}
	f.Var(ask.Formats(&o.format, append([]string{"json", "csv"}, more...)...), "format", help)
	f.BoolVarP(&o.stamp, "timestamps", "t", false, "print the time of every interval")
}

// args reads the arguments and checks the flags.
func (o *intervals) args(args []string) error {
	o.every, o.count = firstLook, 1
	if len(args) > 2 {
		return &ask.Error{Err: fmt.Errorf("reading the arguments: %q is an unexpected argument", args[2]), Next: "give INTERVAL and COUNT at most"}
	}
	if len(args) > 0 {
		every, err := interval(args[0])
		if err != nil {
			return err
		}
		o.every, o.count = every, 0
	}
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			return &ask.Error{Err: fmt.Errorf("reading COUNT: %q is not a number of intervals", args[1]), Next: "give 1 or more"}
		}
		o.count = n
	}
	return nil
}

// interval reads seconds, with a unit or without.
func interval(s string) (time.Duration, error) {
	d, err := ask.ParseTime(s)
	if err != nil || d < shortest {
		return 0, &ask.Error{Err: fmt.Errorf("reading INTERVAL: %q is not a time of %v or more", s, shortest), Next: "give seconds, or a time such as 500ms"}
	}
	return d, nil
}

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

// form is what the flags say of tables.
func (o *intervals) form() console.Form {
	return console.Form{Top: o.top, Sort: o.sort, Format: o.format, Stamp: o.stamp}
}

// newPrinter prints tables as the flags say.
func newPrinter(s streams, o *intervals) *console.Printer {
	return console.NewPrinter(s.stdout, s.stderr, o.form())
}

// snapshots shows the state of something again and again: what take returns.
func snapshots[T any](parent context.Context, s streams, o *intervals, args []string,
	take func(context.Context) (*T, error), show func(p *console.Printer, now, before *T) ([]table.Table, error)) error {
	if err := o.args(args); err != nil {
		return err
	}
	return console.Snapshots(parent, newPrinter(s, o), o.every, o.count, take, show)
}
