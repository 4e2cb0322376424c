//go:build !light

package series

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/fileutil"
	logged "github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"
)

// mendDir is where a segment is written anew, in the directory of its tier.
const mendDir = "mending"

// loss is a time of a tier whose values, or some of them, could not be read.
type loss struct {
	Tier string `json:"tier"`
	From int64  `json:"from"` // milliseconds since 1970 of the last value before; none: not known
	To   int64  `json:"to"`   // of the first value after
	Why  string `json:"why"`
	torn bool   // the end of the log: what was being written
}

func (l *loss) String() string {
	switch {
	case l.From == none && l.To == none:
		return fmt.Sprintf("values of an unknown time could not be read: %s", l.Why)
	case l.From == none:
		return fmt.Sprintf("values before %s could not be read: %s", instant(l.To), l.Why)
	case l.To == none:
		return fmt.Sprintf("values after %s could not be read: %s", instant(l.From), l.Why)
	}
	seconds := strconv.FormatFloat(float64(l.To-l.From)/1000, 'f', -1, 64)
	return fmt.Sprintf("values of %s s from %s to %s could not be read: %s", seconds, instant(l.From), instant(l.To), l.Why)
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z") }

// mender mends the logs of one tier, so that the engine can read all that is
// whole in them.
type mender struct {
	dir     string // of the tier
	name    string // of the tier
	covered int64  // milliseconds since 1970 up to which blocks have the values
	aside   string // where damaged segments are kept; "": nowhere
	lost    []loss
}

// mendAll mends the logs of all tiers of a recording that is opened for writing.
// It returns what could not be read of them, now and in former times.
func mendAll(o Options) ([]loss, error) {
	before, err := losses(o.Dir)
	if err != nil && o.Log != nil {
		o.Log.Error("earlier losses of the history are not known", "why", err)
	}
	kept, now := before[:0:0], time.Now().UnixMilli()
	if o.Now != nil {
		now = o.Now().UnixMilli()
	}
	for _, l := range before {
		i := tierOf(l.Tier)
		if i >= 0 && (l.To == none || now-l.To < o.Keep[i].Milliseconds()) {
			kept = append(kept, l)
		}
	}
	changed := len(kept) != len(before)
	for _, s := range specs() {
		dir := filepath.Join(o.Dir, s.name)
		found, err := mend(dir, s.name, filepath.Join(o.Dir, asideDir))
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			if l.torn && o.Retried {
				continue
			}
			if o.Log != nil {
				o.Log.Warn("part of the history is damaged", "what", l.String())
			}
			if l.To == none { // the history continues now
				l.To = now
			}
			kept, changed = append(kept, l), true
		}
	}
	if !changed {
		return kept, nil
	}
	return kept, keepLosses(o.Dir, kept)
}

// tierOf is the tier of a name, -1 for none.
func tierOf(name string) int {
	names := TierNames()
	return slices.Index(names[:], name)
}

// mend writes the damaged segments of the logs anew with the records that are
// whole, and tells which times are missing.
func mend(dir, name, aside string) ([]loss, error) {
	m := &mender{dir: dir, name: name, covered: coveredBy(dir), aside: aside}
	return m.logs()
}

// mendCopy is mend of a copy of a tier's logs, without the blocks.
func mendCopy(dir, tmp, name string) ([]loss, error) {
	m := &mender{dir: tmp, name: name, covered: coveredBy(dir)}
	return m.logs()
}

func (m *mender) logs() ([]loss, error) {
	for _, log := range []string{"wal", "wbl"} {
		if log == "wbl" { // of values out of order, which blocks have when it is gone
			m.covered = none
		}
		if err := m.log(log); err != nil {
			return nil, fmt.Errorf("reading the log %s: %w", filepath.Join(m.dir, log), err)
		}
	}
	return m.lost, os.RemoveAll(filepath.Join(m.dir, mendDir))
}

// coveredBy is the instant up to which the blocks of a tier have all values that
// came in order: what the log has of that time is not read any more.
func coveredBy(dir string) int64 {
	covered := int64(none)
	blocks, err := blockDirs(dir)
	if err != nil {
		return covered // whoever opens them says why
	}
	for _, path := range blocks {
		if m, ok := metaOf(path); ok && !m.Compaction.FromOutOfOrder() {
			covered = max(covered, m.MaxTime-1)
		}
	}
	return covered
}

// segments are the files of a log that the engine reads, in its order.
func segments(log string) ([]string, error) {
	var out []string
	first := 0
	if checkpoint, at, err := wlog.LastCheckpoint(log); err == nil {
		first = at + 1
		names, err := numbered(checkpoint, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	} else if !errors.Is(err, logged.ErrNotFound) {
		return nil, err
	}
	names, err := numbered(log, first)
	return append(out, names...), err
}

// numbered are the segments of a directory from a number on.
func numbered(dir string, first int) ([]string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range all {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= first && e.Type().IsRegular() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(filepath.Base(a)), len(filepath.Base(b))), strings.Compare(a, b))
	})
	return out, nil
}

func (m *mender) log(name string) error {
	files, err := segments(filepath.Join(m.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	damaged := false
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, bad := readSegment(b, false)
		damaged = damaged || len(bad) > 0
	}
	if !damaged {
		return nil
	}
	c := course{m: m, newest: none, known: map[chunks.HeadSeriesRef]bool{}, nameless: map[chunks.HeadSeriesRef]bool{}, from: math.MaxInt64, to: none}
	for i, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		records, bad := readSegment(b, true)
		last := i == len(files)-1
		c.segment(path, records, bad, last)
		if last && len(c.nameless) > 0 {
			records = append(records, c.placeholder())
		} else if len(bad) == 0 {
			continue
		}
		if err := m.rewrite(path, records, len(bad) > 0); err != nil {
			return fmt.Errorf("writing %s anew: %w", path, err)
		}
	}
	if name == "wal" { // the other log is of series that this one names
		c.unnamed()
	}
	c.end()
	return nil
}

// course is a log as it is read from its beginning.
type course struct {
	m      *mender
	newest int64 // instant of the last record with values; none before it
	open   []loss

	known, nameless map[chunks.HeadSeriesRef]bool
	from, to        int64 // of the values of series without a name
}

func (c *course) segment(path string, records []logRecord, bad []lostBytes, last bool) {
	rel, err := filepath.Rel(c.m.dir, path)
	if err != nil {
		rel = path
	}
	for i := 0; ; i++ {
		for _, x := range bad {
			if x.before != i {
				continue
			}
			why := fmt.Sprintf("%s of %s is damaged from byte %d to %d", rel, c.m.name, x.from, x.to)
			if x.atEnd && last {
				why = fmt.Sprintf("the end of %s of %s, from byte %d on, is torn off or damaged", rel, c.m.name, x.from)
			}
			c.open = append(c.open, loss{Tier: c.m.name, From: c.newest, To: none, Why: why, torn: x.atEnd && last})
		}
		if i == len(records) {
			return
		}
		c.record(&records[i])
	}
}

func (c *course) record(r *logRecord) {
	for _, ref := range r.named {
		c.known[ref] = true
	}
	for _, v := range r.values {
		if !c.known[v.Ref] && v.T > c.m.covered {
			c.nameless[v.Ref] = true
			c.from, c.to = min(c.from, v.T), max(c.to, v.T)
		}
	}
	if r.newest == none {
		return
	}
	for i := range c.open {
		c.open[i].To = r.oldest
	}
	c.end()
	c.newest = r.newest
}

// end tells the losses whose time is known by now.
func (c *course) end() {
	for _, l := range c.open {
		if l.To != none && l.From != none && l.To < l.From { // values came out of order
			l.From, l.To = l.To, l.From
		}
		if l.To != none && l.To <= c.m.covered {
			continue // blocks have it
		}
		if l.From == none || l.From < c.m.covered {
			l.From = c.m.covered
		}
		c.m.lost = append(c.m.lost, l)
	}
	c.open = nil
}

// unnamed tells of values whose series had its name in what is lost.
func (c *course) unnamed() {
	if len(c.nameless) == 0 {
		return
	}
	c.m.lost = append(c.m.lost, loss{Tier: c.m.name, From: c.from, To: c.to,
		Why: fmt.Sprintf("of only %d series: their names were in a damaged part of the log of %s", len(c.nameless), c.m.name)})
}

// placeholder names a series above all that have lost their names: the engine
// would give their numbers to new series, and the values with them.
func (c *course) placeholder() logRecord {
	highest := chunks.HeadSeriesRef(0)
	for ref := range c.nameless {
		highest = max(highest, ref)
	}
	one := logged.RefSeries{Ref: highest + 1, Labels: labels.FromStrings(nameLabel, "iocause_names_lost")}
	var e logged.Encoder
	return logRecord{data: e.Series([]logged.RefSeries{one}, nil), oldest: none, newest: none}
}

// rewrite puts a segment with these records in place of another one. What was
// there is kept aside where that is wanted.
func (m *mender) rewrite(path string, records []logRecord, aside bool) error {
	tmp := filepath.Join(m.dir, mendDir)
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	const segment = 64 << 20 // more than any has: the new one stays one file
	w, err := wlog.NewSize(quiet(nil), nil, tmp, segment, compression.Snappy)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := w.Log(r.data); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if aside && m.aside != "" {
		if err := m.keep(path); err != nil {
			return err
		}
	}
	return fileutil.Rename(wlog.SegmentName(tmp, 0), path) // and syncs the directory
}

// keep puts a damaged segment aside, for whoever wants to look at it.
func (m *mender) keep(path string) error {
	if err := os.MkdirAll(m.aside, 0o700); err != nil {
		return err
	}
	rel, err := filepath.Rel(m.dir, path)
	if err != nil {
		return err
	}
	name := m.name + "-" + strings.ReplaceAll(rel, string(filepath.Separator), "-")
	to := filepath.Join(m.aside, name)
	for i := 2; ; i++ {
		if err := os.Link(path, to); !errors.Is(err, fs.ErrExist) {
			return err
		}
		to = filepath.Join(m.aside, fmt.Sprintf("%s.%d", name, i))
	}
}
