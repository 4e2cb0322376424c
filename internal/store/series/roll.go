//go:build !light

package series

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
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
// the counter begins anew: nobody knows how fast it rose meanwhile. The values
// before and after that are kept at their own instants, so that the increase of
// the whole interval stays known; so is the first after a gap. Of file systems and
// disks that came and went within less than a tenth of the interval no gauge is told:
// the coarser tiers keep their series in memory for hours and days.
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
			all, err := raw.roll(ctx, begin, begin+step)
			if err != nil {
				return fmt.Errorf("rolling up to %s: %w", t.name, err)
			}
			if len(all) == 0 {
				continue
			}
			if _, err := t.append(all); err != nil {
				return err
			}
			t.forget() // they are made anew each time
		}
	}
	return nil
}

// settled is how long an interval is over before it is rolled up: a source that
// is slow, as statfs is on a disk in trouble, is waited for ten seconds, and what
// it gives bears the instant at which it was asked.
const settled = 12 * time.Second

// before is how far back a counter's value may lie for the next one to tell
// how fast it rises: a value stands for so long.
const before = time.Minute

// mostAnew is how often a counter that begins anew is told of in an interval.
const mostAnew = 10

// roll sums up what lies after from, up to and with to: the last frame. Those
// before it are of counters that began anew.
func (t *tier) roll(ctx context.Context, from, to int64) ([]Frame, error) {
	f := Frame{At: time.UnixMilli(to)}
	anew := map[int64][]Value{}
	q, err := t.querier(from-before.Milliseconds(), to)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	set := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchRegexp, nameLabel, ".+"))
	var it chunkenc.Iterator
	var sums []summary
	first, last := to, from // of all series
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		sum, err := summarize(it, from, to, counts(s.Labels().Get(nameLabel)))
		if err != nil {
			return nil, err
		}
		if sum.n == 0 && len(sum.anew) == 0 {
			continue
		}
		sum.labels = s.Labels()
		first, last = min(first, sum.firstAt), max(last, sum.lastAt)
		sums = append(sums, sum)
	}
	if err := set.Err(); err != nil {
		return nil, err
	}
	for i := range sums {
		sum := &sums[i]
		name := sum.labels.Get(nameLabel)
		if sum.passed(name, first, last) {
			continue
		}
		if _, _, part := HistogramOf(name); part {
			sum.extremes = false // nobody asks how fast a bucket filled
		}
		f.Values = append(f.Values, sum.values(sum.labels, name)...)
		for _, p := range sum.anew {
			at := p.At.UnixMilli()
			anew[at] = append(anew[at], Value{&Series{sum.labels}, p.Value})
		}
	}
	if len(f.Values) == 0 {
		return nil, nil
	}
	var all []Frame
	for _, at := range slices.Sorted(maps.Keys(anew)) {
		all = append(all, Frame{At: time.UnixMilli(at), Values: anew[at]})
	}
	return append(all, f), nil
}

// summary is one series over one interval.
type summary struct {
	labels          labels.Labels
	n               int
	firstAt, lastAt int64 // of its values, in ms
	sum, last       float64
	least, largest  float64 // of the values, of a counter of the increases a second
	extremes        bool
	counter         bool
	anew            []Point // before and after a counter began anew, or may have, but for those at the ends
}

func summarize(it chunkenc.Iterator, from, to int64, counter bool) (summary, error) {
	s := summary{counter: counter, least: math.Inf(1), largest: math.Inf(-1)}
	beforeAt, last := int64(none), 0.0
	for v := it.Next(); v != chunkenc.ValNone; v = it.Next() {
		if v != chunkenc.ValFloat {
			return s, errors.New("a value that is not a number")
		}
		at, x := it.At()
		if at > to {
			break
		}
		if at > from {
			if s.n++; s.n == 1 {
				s.firstAt = at
			}
			s.lastAt = at
			s.sum += x
			s.last = x
			rate, known := x, !counter
			if counter && beforeAt != none && x >= last && at-beforeAt <= before.Milliseconds() {
				rate, known = (x-last)*1000/float64(at-beforeAt), true
			}
			switch {
			case !counter || len(s.anew) >= 2*mostAnew:
			case beforeAt == none && at < to: // after a gap: it may have begun anew in it
				s.anew = append(s.anew, Point{time.UnixMilli(at), x})
			case beforeAt != none && x < last:
				s.beganAnew(beforeAt, last, at, x, from, to)
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

// passing is which part of the time a file system or a disk must have been there for, at
// least, if it came and went in it: one in so many.
const passing = 10

// passed tells of a gauge of a file system or a disk that came after the first value of
// all, went before the last one, and was there for a moment only.
func (s *summary) passed(name string, first, last int64) bool {
	const rarely = 30_000 // ms: longer than from one value of theirs to the next
	return !s.counter && (strings.HasPrefix(name, "iocause_fs_") || strings.HasPrefix(name, "iocause_device_")) &&
		s.firstAt > first+rarely && s.lastAt < last-rarely && (s.lastAt-s.firstAt)*passing < last-first
}

func (s *summary) beganAnew(lastAt int64, last float64, at int64, x float64, from, to int64) {
	if lastAt > from { // else the interval before ends with it
		s.anew = append(s.anew, Point{time.UnixMilli(lastAt), last})
	}
	if at < to {
		s.anew = append(s.anew, Point{time.UnixMilli(at), x})
	}
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
