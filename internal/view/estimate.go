package view

import (
	"fmt"
	"time"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// summedUp is how long a time is, at least, that samples are few or many in by
// chance alone.
const summedUp = time.Minute

// samples are what the agent's samples of the page cache stand for. Each
// stands for the time since the one before it; when that was is not known of
// the first.
type samples struct {
	w        *sample.Window
	n        int
	from, to time.Duration // after the window's start: what they stand for
	sampled  float64       // seconds of it
}

// samplesOf are those of the host; ok is false where nobody took any.
func samplesOf(w *sample.Window) (l samples, ok bool) {
	s := w.Get(sample.CacheSampledTime, sample.Entity{})
	if s == nil {
		return l, false
	}
	l.w = w
	for _, p := range s.Points {
		if p.Value <= 0 {
			continue
		}
		if l.n++; l.n == 1 {
			l.from = p.At
		} else {
			l.sampled += p.Value
		}
		l.to = p.At
	}
	if len(s.Points) == 1 && w.Length >= summedUp { // windows that were added up: they stand for all of it, on average
		l.n, l.from, l.to, l.sampled = 2, -1, w.Length, s.Sum()
	}
	return l, true
}

// seconds are what the samples stand for, 0 where that is not known.
func (l *samples) seconds() float64 { return (l.to - max(l.from, 0)).Seconds() }

func (l *samples) sum(m sample.Metric) (v float64) {
	if s := l.w.Get(m, sample.Entity{}); s != nil {
		for _, p := range s.Points {
			if p.At > l.from && p.At <= l.to {
				v += p.Value
			}
		}
	}
	return v
}

// rate is what a counter rose by in a second, times a unit; ok is false where
// that is not known.
func (l *samples) rate(m sample.Metric, unit float64) (v float64, ok bool) {
	if l.n < 2 || l.seconds() <= 0 || !l.w.Has(m) {
		return 0, false
	}
	return l.sum(m) * unit / l.seconds(), true
}

// estimate is the page cache's account as samples have it: of the host alone. ok
// is false where nobody took any.
func estimate(w *sample.Window) (t table.Table, ok bool) {
	l, ok := samplesOf(w)
	if !ok {
		return t, false
	}
	rate := func(m sample.Metric, unit float64) table.Cell { return table.Maybe(l.rate(m, unit)) }
	t = table.Table{
		Key: "estimate", Whole: true, Title: "Page cache of the host, estimated",
		Columns: []table.Column{
			{Key: "hit_ratio", Head: "HIT", Unit: "ratio"},
			{Key: "read_bytes_per_s", Was: "visited_bytes_per_s", Head: "READ/s", Unit: "bytes"},
			{Key: "from_disk_bytes_per_s", Was: "cold_bytes_per_s", Head: "MISS/s", Unit: "bytes"},
			{Key: "inserted_bytes_per_s", Head: "INSERT/s", Unit: "bytes"},
			{Key: "evicted_bytes_per_s", Head: "EVICT/s", Unit: "bytes"},
			{Key: "mapped_from_disk_bytes_per_s", Was: "cold_mapped_bytes_per_s", Head: "MAPPED/s", Unit: "bytes", Drop: 2},
			{Key: "read_calls_per_s", Head: "CALLS/s", Unit: "count", Drop: 1},
			{Key: "sampled_seconds", Was: "looked_seconds", Head: "SAMPLED", Unit: "seconds"},
			{Key: "of_seconds", Head: "OF", Unit: "seconds"},
		},
		Rows: [][]table.Cell{{
			table.Maybe(figure.HitRatio(l.sum(sample.CacheSampledAccesses), l.sum(sample.CacheSampledAccesses)-l.sum(sample.CacheSampledHits))),
			rate(sample.CacheSampledBytes, 1), rate(sample.CacheSampledMisses, PageBytes), rate(sample.CacheSampledIn, PageBytes),
			rate(sample.CacheSampledOut, PageBytes), rate(sample.CacheSampledMapped, PageBytes), rate(sample.CacheSampledCalls, 1),
			table.Maybe(l.sampled, l.n > 1), table.Maybe(l.seconds(), l.n > 1),
		}},
	}
	if l.n < 2 {
		t.Notes = []string{"there are fewer than two samples in this time, too few for an estimate; choose a longer time"}
		return t, true
	}
	t.Title += fmt.Sprintf(" from samples of %.2g %% of the time", 100*l.sampled/l.seconds())
	t.Notes = []string{"scaled up from short samples: rare events may be missing or overestimated; INSERT counts all insertions, also by writes"}
	return t, true
}

// estimates are the figures of the page cache where there is no account of it.
// The share of hits needs no time that a sample stands for, so that one sample will
// do for a window's.
func (f *figures) estimates() {
	l, ok := samplesOf(f.w)
	if !ok {
		return
	}
	accesses, _ := f.w.Sum(sample.CacheSampledAccesses, sample.Entity{})
	hits, _ := f.w.Sum(sample.CacheSampledHits, sample.Entity{})
	if r, asked := figure.HitRatio(accesses, accesses-hits); asked {
		f.add("cache.hit_ratio", "page cache hit ratio, estimate", "ratio", r, sample.CacheSampledAccesses)
	}
	for _, x := range []struct {
		key, name string
		m         sample.Metric
		unit      float64
	}{
		{"cache.read", "read through the page cache, estimate", sample.CacheSampledBytes, 1},
		{"cache.from_disk", "of that from disk, estimate", sample.CacheSampledMisses, PageBytes},
		{"cache.mapped_from_disk", "read from disk by mappings, estimate", sample.CacheSampledMapped, PageBytes},
		{string(sample.CacheEvicted), "evicted from the page cache, estimate", sample.CacheSampledOut, PageBytes},
	} {
		if v, ok := l.rate(x.m, x.unit); ok {
			f.add(x.key, x.name, "bytes/s", v, x.m)
		}
	}
}
