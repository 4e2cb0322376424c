package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Roll brings the coarser tiers up to the newest raw value, from what the raw
// tier holds: so a crash costs them nothing that the raw tier kept. A value stands at the end
// of its interval and covers what was after the end of the one before. Of a
// counter it is the last value, of anything else the mean; NAME:max and
// NAME:min are the extremes, of a counter the fastest and slowest increase a
// second between two values. There is no such increase over a gap, nor where
// the counter begins anew: nobody knows how fast it rose meanwhile.
func (r *Recording) Roll(ctx context.Context) error {
	return r.reading(func(shelves) error { return r.roll(ctx) })
}

func (r *Recording) roll(ctx context.Context) error {
	raw := r.tiers[0]
	oldest, newest := raw.oldest(), raw.newest()
	if oldest == none {
		return nil
	}
	for _, t := range r.tiers[1:] {
		step := t.resolution.Milliseconds()
		end := (newest - settled.Milliseconds()) / step * step
		begin := max(t.newest(), oldest-1) / step * step
		for ; begin < end; begin += step {
			f, err := raw.roll(ctx, begin, begin+step)
			if err != nil {
				return fmt.Errorf("rolling up to %s: %w", t.name, err)
			}
			if len(f.Values) == 0 {
				continue
			}
			if _, err := t.append([]Frame{f}); err != nil {
				return err
			}
			t.forget() // they are made anew each time
		}
	}
	return nil
}

// settled is how long an interval is over before it is rolled up: sources come
// one after the other.
const settled = 2 * time.Second

// before is how far back a counter's value may lie for the next one to tell
// how fast it rises: a value stands for so long.
const before = time.Minute

// roll sums up what lies after from, up to and with to.
func (t *tier) roll(ctx context.Context, from, to int64) (Frame, error) {
	f := Frame{At: time.UnixMilli(to)}
	q, err := t.querier(from-before.Milliseconds(), to)
	if err != nil {
		return f, err
	}
	defer q.Close()
	set := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchRegexp, nameLabel, ".+"))
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		name := s.Labels().Get(nameLabel)
		sum, err := summarize(it, from, to, strings.HasSuffix(name, "_total"))
		if err != nil {
			return f, err
		}
		f.Values = append(f.Values, sum.values(s.Labels(), name)...)
	}
	return f, set.Err()
}

// summary is one series over one interval.
type summary struct {
	n              int
	sum, last      float64
	least, largest float64 // of the values, of a counter of the increases a second
	extremes       bool
	counter        bool
}

func summarize(it chunkenc.Iterator, from, to int64, counter bool) (summary, error) {
	s := summary{counter: counter, least: math.Inf(1), largest: math.Inf(-1)}
	beforeAt, last := int64(none), 0.0
	for v := it.Next(); v != chunkenc.ValNone; v = it.Next() {
		if v != chunkenc.ValFloat {
			return s, errors.New("a value that is no number")
		}
		at, x := it.At()
		if at > to {
			break
		}
		if at > from {
			s.n++
			s.sum += x
			s.last = x
			rate, known := x, !counter
			if counter && beforeAt != none && x >= last && at-beforeAt <= before.Milliseconds() {
				rate, known = (x-last)*1000/float64(at-beforeAt), true
			}
			if known {
				s.extremes = true
				s.least, s.largest = min(s.least, rate), max(s.largest, rate)
			}
		}
		beforeAt, last = at, x
	}
	return s, it.Err()
}

func (s *summary) values(l labels.Labels, name string) []Value {
	if s.n == 0 {
		return nil
	}
	main := s.last
	if !s.counter {
		main = Short(s.sum / float64(s.n))
	}
	out := []Value{{&Series{l}, main}}
	if s.extremes {
		out = append(out, Value{renamed(l, name+":max"), Short(s.largest)}, Value{renamed(l, name+":min"), Short(s.least)})
	}
	return out
}

func renamed(l labels.Labels, name string) *Series {
	b := labels.NewBuilder(l)
	b.Set(nameLabel, name)
	return &Series{b.Labels()}
}

// Short rounds to 24 bits, which is finer than anything that is measured here
// and takes half the room.
func Short(v float64) float64 { return float64(float32(v)) }

// Fine rounds a sum of seconds to 1/1024: as fine as the kernel's own figures
// and, unlike thousandths, short in binary.
func Fine(v float64) float64 { return math.Round(v*1024) / 1024 }
