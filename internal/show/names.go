package show

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/present/text"
	"iocause/internal/store/series"
)

// Names lists series for people: a series, and below it what it is, in
// full. The extremes that are kept beside it in the coarser tiers are not told
// again.
func Names(out io.Writer, names []string, help func(name string) string, width int) error {
	const indent = "    "
	var b strings.Builder
	more := 0
	for _, n := range names {
		if base, _, is := strings.Cut(n, ":"); is && slices.Contains(names, base) {
			more++
			continue
		}
		b.WriteString(text.Escape(n) + "\n")
		base, _, _ := strings.Cut(n, ":")
		for _, line := range text.Wrap(help(base), width-len(indent)) {
			b.WriteString(indent + line + "\n")
		}
	}
	if more > 0 {
		note := text.Wrap("with :max or :min behind a name: the extremes of each step, for history in steps of five minutes and of an hour", width-2)
		b.WriteString("! " + strings.Join(note, "\n  ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// QueryError shows where an expression goes wrong; any other error stays as it is.
func QueryError(err error) error {
	var q *series.QueryError
	if !errors.As(err, &q) {
		return err
	}
	line := strings.Count(q.Expr[:q.At], "\n")
	begin := strings.LastIndexByte(q.Expr[:q.At], '\n') + 1
	shown := text.Escape(strings.Split(q.Expr, "\n")[line])
	at := text.Width(text.Escape(q.Expr[begin:q.At]))
	return &ask.Error{Err: err, Next: fmt.Sprintf("the error is here:\n  %s\n  %s^", shown, strings.Repeat(" ", at))}
}
