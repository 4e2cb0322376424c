//go:build !light

package series

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Between gives, of every series as it was measured, the newest value of each
// step that ends after from and no later than to. The steps are whole ones of
// the clock. Lines are sorted by their labels and points by their time, so that
// the same is given in the same order each time.
func (r *Recording) Between(ctx context.Context, from, to time.Time, step time.Duration) (out []Line, err error) {
	err = r.reading(func(s shelves) error {
		q, err := s[0].querier(from.UnixMilli()+1, to.UnixMilli())
		if err != nil {
			return fmt.Errorf("reading what is to be sent: %w", err)
		}
		defer q.Close()
		set := q.Select(ctx, true, nil, labels.MustNewMatcher(labels.MatchRegexp, nameLabel, ".+"))
		var it chunkenc.Iterator
		for set.Next() {
			l := lineOf(set.At().Labels())
			it = set.At().Iterator(it)
			l.Points = thin(it, step)
			out = append(out, l)
		}
		if err := set.Err(); err != nil {
			return fmt.Errorf("reading what is to be sent: %w", err)
		}
		return nil
	})
	return out, err
}

// thin keeps the last value of each step; a step is what lies after its begin
// up to and with its end.
func thin(it chunkenc.Iterator, step time.Duration) []Point {
	var out []Point
	ms := step.Milliseconds()
	last := int64(none)
	for v := it.Next(); v == chunkenc.ValFloat; v = it.Next() {
		at, x := it.At()
		p := Point{time.UnixMilli(at), x}
		if n := (at - 1) / ms; n == last {
			out[len(out)-1] = p
		} else {
			out = append(out, p)
			last = n
		}
	}
	return out
}
