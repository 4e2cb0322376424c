//go:build !light

package series

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// shelf is one tier as it is read.
type shelf interface {
	querier(mint, maxt int64) (storage.Querier, error)
	oldest() int64
	newest() int64
	notes() []string
}

// shelves are the tiers of a recording, the finest first. To a query they are
// one database: the finest tier answers for the time that it has, the next for
// what is older.
type shelves [Tiers]shelf

func (s shelves) notes() []string {
	var out []string
	for _, x := range s {
		out = append(out, x.notes()...)
	}
	return out
}

// Querier implements storage.Queryable.
func (s shelves) Querier(mint, maxt int64) (storage.Querier, error) { return s.open(mint, maxt) }

func (s shelves) open(mint, maxt int64) (*tieredQuerier, error) {
	q := &tieredQuerier{mint: mint, maxt: maxt}
	for i, x := range s {
		one, err := x.querier(mint, maxt)
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
		q.tiers[i], q.oldest[i], q.newest[i] = one, x.oldest(), x.newest()
	}
	return q, nil
}

// tieredQuerier reads all tiers.
type tieredQuerier struct {
	mint, maxt     int64
	tiers          [Tiers]storage.Querier
	oldest, newest [Tiers]int64
}

// finest is the first tier that a selection is answered from: a coarser one
// where the query steps over what is between, and for the names that only
// those have.
func finest(h *storage.SelectHints, m []*labels.Matcher) int {
	for _, x := range m {
		if x.Name == nameLabel && x.Type == labels.MatchEqual && strings.Contains(x.Value, ":") {
			return 1
		}
	}
	if h == nil {
		return 0
	}
	specs := specs()
	for i := Tiers - 1; i > 0; i-- {
		ms := specs[i].resolution.Milliseconds()
		if h.Step >= ms && (h.Range == 0 || h.Range >= 4*ms) {
			return i
		}
	}
	return 0
}

// Select implements storage.Querier.
func (q *tieredQuerier) Select(ctx context.Context, sorted bool, h *storage.SelectHints, m ...*labels.Matcher) storage.SeriesSet {
	from, to := q.mint, q.maxt
	if h != nil {
		from, to = max(from, h.Start), min(to, h.End)
	}
	var sets []storage.SeriesSet
	take := func(i int, from, to int64) {
		if from > to {
			return
		}
		part := storage.SelectHints{}
		if h != nil {
			part = *h
		}
		part.Start, part.End = from, to
		sets = append(sets, q.tiers[i].Select(ctx, true, &part, m...))
	}
	first := finest(h, m)
	// What the coarse tiers lack at the newest end comes from the finer ones.
	end := to
	for i := first; i > 0; i-- {
		if n := q.newest[i]; n != none && n < end {
			take(i-1, max(from, n+1), end)
			end = n
		} else if n == none {
			first = i - 1
		}
	}
	for i := first; i < Tiers && from <= end; i++ {
		if q.oldest[i] == none {
			continue
		}
		take(i, max(from, q.oldest[i]), end)
		end = min(end, q.oldest[i]-1)
	}
	return storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
}

// LabelValues implements storage.Querier.
func (q *tieredQuerier) LabelValues(ctx context.Context, name string, h *storage.LabelHints, m ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return storage.NewMergeQuerier(q.tiers[:], nil, storage.ChainedSeriesMerge).LabelValues(ctx, name, h, m...)
}

// LabelNames implements storage.Querier.
func (q *tieredQuerier) LabelNames(ctx context.Context, h *storage.LabelHints, m ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return storage.NewMergeQuerier(q.tiers[:], nil, storage.ChainedSeriesMerge).LabelNames(ctx, h, m...)
}

// Close implements storage.Querier.
func (q *tieredQuerier) Close() error {
	var errs []error
	for _, t := range q.tiers {
		if t != nil {
			errs = append(errs, t.Close())
		}
	}
	return errors.Join(errs...)
}

func (t *tier) querier(mint, maxt int64) (storage.Querier, error) { return t.db.Querier(mint, maxt) }

func (t *tier) notes() []string { return t.damage.all() }

func (r *Recording) shelves() shelves {
	var s shelves
	for i, t := range r.tiers {
		s[i] = t
	}
	return s
}

// reading runs f while the recording stays open.
func (r *Recording) reading(f func(shelves) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.tiers[Tiers-1] == nil {
		return ErrClosed
	}
	return f(r.shelves())
}

// Query implements Database.
func (r *Recording) Query(ctx context.Context, q Query) (out *Result, err error) {
	err = r.reading(func(s shelves) error {
		out, err = s.query(ctx, r.engine, q)
		return err
	})
	return out, err
}

// Samples is that of Reader, of what is being recorded.
func (r *Recording) Samples(ctx context.Context, from, to time.Time, step time.Duration, names []string, f func(l *Line, stands time.Duration)) (warnings []string, err error) {
	err = r.reading(func(s shelves) error {
		warnings = s.notes()
		return s.samples(ctx, from, to, step, names, f)
	})
	return warnings, err
}

// Find implements Database.
func (r *Recording) Find(ctx context.Context, selectors []string, from, to time.Time) (out []Line, err error) {
	err = r.reading(func(s shelves) error {
		out, err = s.find(ctx, selectors, from, to)
		return err
	})
	return out, err
}

// LabelNames implements Database.
func (r *Recording) LabelNames(ctx context.Context, selectors []string, from, to time.Time) (out []string, err error) {
	err = r.reading(func(s shelves) error {
		out, err = s.labelNames(ctx, selectors, from, to)
		return err
	})
	return out, err
}

// LabelValues implements Database.
func (r *Recording) LabelValues(ctx context.Context, name string, selectors []string, from, to time.Time) (out []string, err error) {
	err = r.reading(func(s shelves) error {
		out, err = s.labelValues(ctx, name, selectors, from, to)
		return err
	})
	return out, err
}
