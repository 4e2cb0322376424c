//go:build !light

package series

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// damage is what was found damaged in one tier. Safe for concurrent use.
type damage struct {
	mu    sync.Mutex
	found []string
	log   *slog.Logger
}

// mostDamage is how many findings are kept: a broken disk finds more for ever.
const mostDamage = 20

func (d *damage) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.found, what) || len(d.found) == mostDamage {
		return
	}
	d.found = append(d.found, what)
	if d.log != nil {
		d.log.Warn("part of the history is damaged", "what", what)
	}
}

// remember adds the times of a tier that could not be read, which are said
// already.
func (d *damage) remember(tier string, all []loss) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range all {
		if what := all[i].String(); all[i].Tier == tier && len(d.found) < mostDamage && !slices.Contains(d.found, what) {
			d.found = append(d.found, what)
		}
	}
}

func (d *damage) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.found)
}

// span is the time that a block covers, as its meta.json says; without one the
// time it was written at, which its name holds.
func span(name, path string) string {
	if meta, ok := metaOf(path); ok {
		return between(meta.MinTime, meta.MaxTime)
	}
	if id, err := ulid.ParseStrict(filepath.Base(name)); err == nil {
		return "about " + ulid.Time(id.Time()).UTC().Format(time.RFC3339)
	}
	return "unknown time"
}

// metaOf is what a block's meta.json says of it.
func metaOf(path string) (meta tsdb.BlockMeta, ok bool) {
	b, err := os.ReadFile(filepath.Join(path, "meta.json"))
	return meta, err == nil && json.Unmarshal(b, &meta) == nil && meta.MaxTime > 0
}

func between(min, max int64) string {
	return time.UnixMilli(min).UTC().Format(time.RFC3339) + " to " + time.UnixMilli(max).UTC().Format(time.RFC3339)
}

// querier reads a block so that damage in it costs the values behind it and
// nothing else.
func (d *damage) querier(b tsdb.BlockReader, mint, maxt int64) (storage.Querier, error) {
	q, err := tsdb.NewBlockQuerier(b, mint, maxt)
	if err != nil {
		return nil, err
	}
	meta := b.Meta()
	return &tolerant{Querier: q, of: d, block: between(meta.MinTime, meta.MaxTime)}, nil
}

// tolerant is a querier whose errors become findings.
type tolerant struct {
	storage.Querier
	of    *damage
	block string
}

func (t *tolerant) note(err error) {
	if err != nil {
		t.of.add(fmt.Sprintf("values from %s are missing: %v", t.block, err))
	}
}

// Select implements storage.Querier.
func (t *tolerant) Select(ctx context.Context, sorted bool, h *storage.SelectHints, m ...*labels.Matcher) storage.SeriesSet {
	return &tolerantSet{t.Querier.Select(ctx, sorted, h, m...), t}
}

// LabelValues implements storage.Querier.
func (t *tolerant) LabelValues(ctx context.Context, name string, h *storage.LabelHints, m ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	out, warn, err := t.Querier.LabelValues(ctx, name, h, m...)
	t.note(err)
	return out, warn, nil
}

// LabelNames implements storage.Querier.
func (t *tolerant) LabelNames(ctx context.Context, h *storage.LabelHints, m ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	out, warn, err := t.Querier.LabelNames(ctx, h, m...)
	t.note(err)
	return out, warn, nil
}

type tolerantSet struct {
	storage.SeriesSet
	t *tolerant
}

func (s *tolerantSet) At() storage.Series { return &tolerantSeries{s.SeriesSet.At(), s.t} }

func (s *tolerantSet) Err() error {
	s.t.note(s.SeriesSet.Err())
	return nil
}

type tolerantSeries struct {
	storage.Series
	t *tolerant
}

func (s *tolerantSeries) Iterator(old chunkenc.Iterator) chunkenc.Iterator {
	if i, ok := old.(*tolerantIterator); ok {
		i.Iterator, i.t = s.Series.Iterator(i.Iterator), s.t
		return i
	}
	return &tolerantIterator{s.Series.Iterator(nil), s.t}
}

type tolerantIterator struct {
	chunkenc.Iterator
	t *tolerant
}

func (i *tolerantIterator) Err() error {
	i.t.note(i.Iterator.Err())
	return nil
}
