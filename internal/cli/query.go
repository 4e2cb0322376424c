package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/agent"
	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/present/text"
	"iocause/internal/show"
	"iocause/internal/store/series"
	"iocause/internal/tool/query"
)

// queryOptions are the flags of query.
type queryOptions struct {
	dir, from, to, format string
	step                  time.Duration
	list                  bool
}

func newQueryCommand(e *env) *cobra.Command {
	o := &queryOptions{}
	c := &cobra.Command{
		Use:   "query EXPRESSION [flags]",
		Short: "Query the agent's history, in PromQL",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return runQuery(e, c, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", agent.DefaultConfig().Dir, "directory of the recording")
	f.StringVar(&o.from, "from", "", "start of the time range")
	f.StringVar(&o.to, "to", "", "its end (default: end of the history)")
	f.Var(ask.TimeIn(&o.step, 0), "step", "time between points (default: 120 points; raised above 11000)")
	f.Var(ask.Formats(&o.format, "json", "csv"), "format", "text, json or csv")
	f.BoolVar(&o.list, "list", false, "list all series with their meaning")
	return c
}

func (o *queryOptions) check(args []string) error {
	switch {
	case o.step > 0 && o.from == "":
		return &ask.Error{Err: errors.New("reading --step: there is no --from"), Next: "give both"}
	case o.list && len(args) > 0:
		return &ask.Error{Err: errors.New("reading the arguments: --list takes no expression"), Next: "leave one of them out"}
	case !o.list && len(args) == 0:
		return &ask.Error{Err: errors.New("reading the arguments: the expression is missing"), Next: "give one, or --list; see 'iocause query --help'"}
	}
	if o.list {
		return nil
	}
	return show.QueryError(series.CheckExpr(args[0]))
}

func runQuery(e *env, c *cobra.Command, o *queryOptions, args []string) (err error) {
	if err := o.check(args); err != nil {
		return err
	}
	ask := query.Ask{From: o.from, To: o.to, Step: o.step}
	if _, err := query.Times(&ask, e.host.Now(), e.host.Now()); err != nil {
		return err
	}
	r, newest, err := query.Open(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	q, err := query.Times(&ask, e.host.Now(), newest)
	if err != nil {
		return err
	}
	if o.list {
		return listSeries(e.stdout, c, o, r)
	}
	if note := query.Bound(&q); note != "" {
		fmt.Fprintln(e.stderr, "iocause: "+note)
	}
	q.Expr = args[0]
	result, err := r.Query(c.Context(), q)
	if err != nil {
		return err
	}
	for _, w := range result.Warnings {
		fmt.Fprintln(e.stderr, "iocause: "+text.Escape(w))
	}
	switch o.format {
	case "json":
		return writeJSON(e.stdout, query.Object(result))
	case "csv":
		return console.WriteCSV(e.stdout, []string{"time", "series", "value"}, slices.Values(query.Rows(result)))
	}
	if result.Type == "string" {
		_, err := fmt.Fprintln(e.stdout, text.Escape(result.Text))
		return err
	}
	t := query.Table(result, &q)
	return writeTable(e.stdout, t)
}

// listSeries names what a recording has.
func listSeries(stdout io.Writer, c *cobra.Command, o *queryOptions, r *series.Reader) error {
	names, err := query.Names(c.Context(), r)
	if err != nil {
		return err
	}
	t := query.NamesTable(names, agent.Help)
	switch o.format {
	case "json":
		return writeJSON(stdout, map[string]any{"names": t.Object()})
	case "csv":
		return console.WriteCSV(stdout, t.Keys(), text.Records(t))
	}
	return show.Names(stdout, names, agent.Help, console.Style(stdout, os.Getenv, console.WidestText).Width)
}
