//go:build !light

package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const (
	mostSamples = 20_000_000 // of a query in memory at once: 320 MB, and then an error
	mostBeside  = 250_000    // where something is recorded meanwhile: with all copies of an answer some 40 MB
	longest     = time.Minute
)

func newEngine(most int) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: most, Timeout: longest,
		LookbackDelta: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		Parser:                   newParser(),
	})
}

func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// CheckExpr tells whether an expression can be parsed.
func CheckExpr(expr string) error {
	_, err := newParser().ParseExpr(expr)
	return asQueryError(expr, err)
}

func asQueryError(expr string, err error) error {
	if err == nil {
		return nil
	}
	var all parser.ParseErrors
	if errors.As(err, &all) && len(all) > 0 {
		at := min(max(int(all[0].PositionRange.Start), 0), len(expr))
		return &QueryError{Expr: expr, At: at, What: all[0].Err.Error()}
	}
	return &QueryError{Expr: expr, What: err.Error()}
}

// reach is how far back before the time that a query is asked for its
// expression looks, and the earliest instant that it names with @, none for none.
func reach(expr string) (back time.Duration, at int64) {
	parsed, err := newParser().ParseExpr(expr)
	if err != nil {
		return 0, none // whoever runs it says why
	}
	at = none
	parser.Inspect(parsed, func(n parser.Node, path []parser.Node) error {
		if _, ok := n.(*parser.VectorSelector); !ok {
			return nil
		}
		var own time.Duration
		for _, x := range append(slices.Clone(path), n) {
			var stamp *int64
			switch x := x.(type) {
			case *parser.VectorSelector:
				own, stamp = own+x.OriginalOffset, x.Timestamp
			case *parser.MatrixSelector:
				own += x.Range
			case *parser.SubqueryExpr:
				own, stamp = own+x.OriginalOffset+x.Range, x.Timestamp
			}
			if stamp != nil && (at == none || *stamp < at) {
				at = *stamp
			}
		}
		back = max(back, own)
		return nil
	})
	return back, at
}

// lookback is how old a value may be to count as the one at an instant: a
// minute, and two intervals of the coarsest tier that is read. That is one whose
// steps are asked for, or which has what the finer ones have no longer.
func (s shelves) lookback(q Query) time.Duration {
	specs := specs()
	back, at := reach(q.Expr)
	from, coarse := q.From.Add(-back).UnixMilli(), 0
	if at != none {
		from = min(from, at-back.Milliseconds())
	}
	finer := int64(math.MaxInt64)
	for i := 1; i < Tiers; i++ {
		if at := s[i-1].oldest(); at != none {
			finer = min(finer, at)
		}
		oldest := s[i].oldest()
		if q.Step >= specs[i].resolution || oldest != none && oldest < finer && from < finer {
			coarse = i
		}
	}
	return max(time.Minute, 2*specs[coarse].resolution)
}

// query runs one query over the tiers.
func (s shelves) query(ctx context.Context, e *promql.Engine, q Query) (*Result, error) {
	if q.From.IsZero() || q.Step == 0 {
		q.From = q.To
	}
	opts := promql.NewPrometheusQueryOpts(false, s.lookback(q))
	var run promql.Query
	var err error
	if q.Step == 0 {
		run, err = e.NewInstantQuery(ctx, s, opts, q.Expr, q.To)
	} else {
		if q.To.Sub(q.From)/q.Step > mostPoints {
			return nil, fmt.Errorf("answering the query: %w", ErrTooMany)
		}
		run, err = e.NewRangeQuery(ctx, s, opts, q.Expr, q.From, q.To, q.Step)
	}
	if err != nil {
		return nil, asQueryError(q.Expr, err)
	}
	defer run.Close()
	r := run.Exec(ctx)
	var late promql.ErrQueryTimeout
	if errors.As(r.Err, &late) {
		return nil, fmt.Errorf("answering the query: %w", ErrTimeout)
	}
	if r.Err != nil {
		return nil, fmt.Errorf("answering the query: %w", r.Err)
	}
	out := convert(r.Value)
	warnings, infos := r.Warnings.AsStrings(q.Expr, 10, 10)
	out.Warnings = slices.Concat(s.notes(), warnings, infos)
	return out, nil
}

func convert(v parser.Value) *Result {
	out := &Result{Type: string(v.Type())}
	switch v := v.(type) {
	case promql.Matrix:
		for _, x := range v {
			l := lineOf(x.Metric)
			for _, p := range x.Floats {
				l.Points = append(l.Points, Point{time.UnixMilli(p.T), p.F})
			}
			out.Lines = append(out.Lines, l)
		}
	case promql.Vector:
		for _, x := range v {
			l := lineOf(x.Metric)
			l.Points = []Point{{time.UnixMilli(x.T), x.F}}
			out.Lines = append(out.Lines, l)
		}
	case promql.Scalar:
		out.Lines = []Line{{Points: []Point{{time.UnixMilli(v.T), v.V}}}}
	case promql.String:
		out.Text = v.V
		out.Lines = []Line{{Points: []Point{{time.UnixMilli(v.T), math.NaN()}}}}
	}
	return out
}

func lineOf(l labels.Labels) Line {
	name, of := split(l)
	return Line{Name: name, Labels: of}
}

// matchers reads selectors such as up{job="x"}.
func matchers(selectors []string) ([][]*labels.Matcher, error) {
	var out [][]*labels.Matcher
	for _, s := range selectors {
		m, err := newParser().ParseMetricSelector(s)
		if err != nil {
			return nil, asQueryError(s, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// samples hands over the values of the series of these names, of all without any,
// between two instants as they were recorded: in the finest tier that has the
// time, or the coarsest whose values are not further apart than a step; and of a
// little before.
func (s shelves) samples(ctx context.Context, from, to time.Time, step time.Duration, names []string, f func(l *Line, stands time.Duration)) error {
	stands := s.lookback(Query{From: from, To: to, Step: step})
	hints := &storage.SelectHints{Start: from.Add(-stands).UnixMilli(), End: to.UnixMilli(), Step: step.Milliseconds()}
	q, err := s.Querier(hints.Start, hints.End)
	if err != nil {
		return fmt.Errorf("reading the series: %w", err)
	}
	defer q.Close()
	which := labels.MustNewMatcher(labels.MatchNotEqual, nameLabel, "")
	if len(names) > 0 {
		which = labels.MustNewMatcher(labels.MatchRegexp, nameLabel, strings.Join(names, "|")) // letters and _
	}
	set := q.Select(ctx, true, hints, which)
	var points chunkenc.Iterator
	for set.Next() {
		one := set.At()
		l := lineOf(one.Labels())
		points = one.Iterator(points)
		for points.Next() == chunkenc.ValFloat {
			t, v := points.At()
			l.Points = append(l.Points, Point{At: fromMilli(t), Value: v})
		}
		if err := points.Err(); err != nil {
			return fmt.Errorf("reading the series: %w", err)
		}
		f(&l, stands)
	}
	if err := set.Err(); err != nil {
		return fmt.Errorf("reading the series: %w", err)
	}
	return nil
}

// find lists the series that any selector matches.
func (s shelves) find(ctx context.Context, selectors []string, from, to time.Time) ([]Line, error) {
	sets, err := matchers(selectors)
	if err != nil {
		return nil, err
	}
	q, err := s.Querier(from.UnixMilli(), to.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("listing the series: %w", err)
	}
	defer q.Close()
	var out []Line
	seen := map[uint64]bool{}
	for _, m := range sets {
		set := q.Select(ctx, true, nil, m...)
		for set.Next() {
			l := set.At().Labels()
			if h := l.Hash(); !seen[h] {
				seen[h] = true
				out = append(out, lineOf(l))
			}
		}
		if err := set.Err(); err != nil {
			return nil, fmt.Errorf("listing the series: %w", err)
		}
	}
	return out, nil
}

// labelNames lists the names of labels of the series that any selector matches,
// of all without one.
func (s shelves) labelNames(ctx context.Context, selectors []string, from, to time.Time) ([]string, error) {
	return s.list(selectors, from, to, func(q *tieredQuerier, m []*labels.Matcher) ([]string, error) {
		out, _, err := q.LabelNames(ctx, nil, m...)
		return out, err
	})
}

// labelValues lists the values of one label in the same way.
func (s shelves) labelValues(ctx context.Context, name string, selectors []string, from, to time.Time) ([]string, error) {
	return s.list(selectors, from, to, func(q *tieredQuerier, m []*labels.Matcher) ([]string, error) {
		out, _, err := q.LabelValues(ctx, name, nil, m...)
		return out, err
	})
}

func (s shelves) list(selectors []string, from, to time.Time, one func(*tieredQuerier, []*labels.Matcher) ([]string, error)) ([]string, error) {
	sets, err := matchers(selectors)
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	q, err := s.open(from.UnixMilli(), to.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("listing the labels: %w", err)
	}
	defer q.Close()
	var out []string
	for _, m := range sets {
		some, err := one(q, m)
		if err != nil {
			return nil, fmt.Errorf("listing the labels: %w", err)
		}
		out = append(out, some...)
	}
	for i, v := range out { // they do not outlive the querier
		out[i] = string([]byte(v))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
