package remote

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"iocause/internal/store/series"
)

// entry is what belongs together in a request: one series, or the parts of one
// histogram, which are also told as whole native histograms, one for each instant.
type entry struct {
	series.Line               // of a histogram: its name and labels, no points
	parts       []series.Line // of a histogram: its classic series
	native      []snapshot
}

// snapshot is a native histogram of schema 0: each bucket's bound is twice that of the
// one before (https://prometheus.io/docs/specs/native_histograms/).
type snapshot struct {
	at     time.Time
	lowest int       // the first bucket holds all up to 2^lowest
	counts []float64 // of each bucket, not added up
	sum    float64
}

// entries puts the parts of histograms together; others stay as they are, and all in
// their order.
func entries(lines []series.Line) []entry {
	of := map[string]int{}
	known := map[string]bool{}
	for _, l := range lines {
		if name, part, ok := series.HistogramOf(l.Name); ok && part == series.Bucket {
			known[name] = true
		}
	}
	var out []entry
	for _, l := range lines {
		name, _, ok := series.HistogramOf(l.Name)
		if !ok || !known[name] {
			out = append(out, entry{Line: l})
			continue
		}
		labels := slices.DeleteFunc(slices.Clone(l.Labels), func(x series.Label) bool { return x.Name == series.Bound })
		key := fmt.Sprint(name, labels)
		at, ok := of[key]
		if !ok {
			at = len(out)
			of[key] = at
			out = append(out, entry{Line: series.Line{Name: name, Labels: labels}})
		}
		out[at].parts = append(out[at].parts, l)
	}
	for i := range out {
		if out[i].parts != nil {
			out[i].native = snapshots(out[i].parts)
		}
	}
	return out
}

// snapshots are the histograms of the instants at which every part has a value.
func snapshots(parts []series.Line) []snapshot {
	type bucket struct {
		bound float64
		at    map[int64]float64
	}
	var buckets []bucket
	sums := map[int64]float64{}
	for _, l := range parts {
		at := map[int64]float64{}
		for _, p := range l.Points {
			at[p.At.UnixMilli()] = p.Value
		}
		_, part, _ := series.HistogramOf(l.Name)
		switch part {
		case series.Sum:
			sums = at
		case series.Bucket:
			i := slices.IndexFunc(l.Labels, func(x series.Label) bool { return x.Name == series.Bound })
			if i < 0 {
				return nil
			}
			bound, err := strconv.ParseFloat(l.Labels[i].Value, 64)
			if err != nil {
				return nil
			}
			buckets = append(buckets, bucket{bound, at})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	if len(buckets) < 2 {
		return nil
	}
	lowest := math.Log2(buckets[0].bound)
	for i, b := range buckets[:len(buckets)-1] {
		if b.bound != math.Ldexp(1, int(lowest)+i) {
			return nil // not of powers of two: it has no schema
		}
	}
	var out []snapshot
	for _, p := range parts[0].Points {
		ms := p.At.UnixMilli()
		sum, ok := sums[ms]
		w := snapshot{at: p.At, lowest: int(lowest), sum: sum}
		before := 0.0
		for _, b := range buckets {
			up, there := b.at[ms]
			ok = ok && there && up >= before
			w.counts = append(w.counts, up-before)
			before = up
		}
		if ok {
			out = append(out, w)
		}
	}
	return out
}

// histogram is one as Prometheus keeps it: what is up to the lowest bound is
// its zero bucket.
func (w *snapshot) histogram() *histogram.Histogram {
	h := &histogram.Histogram{Sum: w.sum, ZeroThreshold: math.Ldexp(1, w.lowest), ZeroCount: uint64(w.counts[0]), Count: uint64(w.counts[0])}
	last, skipped := int64(0), true
	next := 0 // the bucket that follows the last one that is told
	for i, n := range w.counts[1:] {
		if n == 0 {
			skipped = true
			continue
		}
		at := w.lowest + 1 + i
		if skipped {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: int32(at - next)})
			skipped = false
		}
		h.PositiveSpans[len(h.PositiveSpans)-1].Length++
		h.PositiveBuckets = append(h.PositiveBuckets, int64(n)-last)
		last, next = int64(n), at+1
		h.Count += uint64(n)
	}
	return h
}

func (w *snapshot) write2() writev2.Histogram {
	return writev2.FromIntHistogram(0, w.at.UnixMilli(), w.histogram())
}

// flat is a batch in which histograms are told in their classic series.
func (b batch) flat() batch {
	var out batch
	for _, e := range b {
		if e.parts == nil {
			out = append(out, e)
		}
		for _, l := range e.parts {
			out = append(out, entry{Line: l})
		}
	}
	return out
}
