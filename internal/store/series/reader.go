//go:build !light

package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Reader reads a recording, whether an agent writes it meanwhile or not, and
// changes nothing in it: what the agent has in memory is read from a copy of
// its write-ahead log.
type Reader struct {
	dir    string // of the copies
	engine *promql.Engine
	tiers  [Tiers]*readTier
}

// readTier is one tier as it was when it was opened.
type readTier struct {
	blocks []*tsdb.Block
	head   *tsdb.DB // of the copy
	damage *damage
}

// copyTries is how often a recording is read anew because its files moved on
// while they were copied.
const copyTries = 10

// A log whose end is torn is copied anew: an agent may have been writing there.
const (
	tornTries = 3
	tornWait  = 20 * time.Millisecond
)

// OpenReader reads a recording.
func OpenReader(dir string) (*Reader, error) {
	specs := specs()
	if _, err := os.Stat(filepath.Join(dir, specs[0].name, "wal")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the history in %s: %w", dir, ErrNoRecording)
	}
	tmp, err := os.MkdirTemp("", "iocause-query-")
	if err != nil {
		return nil, fmt.Errorf("opening the recording: making room for a copy: %w", err)
	}
	r := &Reader{dir: tmp, engine: newEngine(mostSamples)}
	before, err := losses(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the history in %s: %w", dir, err), r.Close())
	}
	for i, s := range specs {
		t, err := readTierIn(filepath.Join(dir, s.name), filepath.Join(tmp, s.name), s, before)
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w; its newest part is copied to %s: set TMPDIR to a directory with more room", err, os.TempDir())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the history in %s: %w", dir, err), r.Close())
		}
		r.tiers[i] = t
	}
	return r, nil
}

func readTierIn(dir, tmp string, s spec, lost []loss) (*readTier, error) {
	var err error
	torn := 0
	for range copyTries {
		// The log first: what the agent moves from it to a block meanwhile is
		// then in both, not in none.
		if err = errors.Join(os.RemoveAll(tmp), copyHead(dir, tmp)); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		now, err := mendCopy(dir, tmp, s.name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(now, func(l loss) bool { return l.torn }) && torn < tornTries {
			torn++ // what is being written is whole in a moment
			time.Sleep(tornWait)
			continue
		}
		t := &readTier{damage: &damage{}}
		t.damage.remember(s.name, slices.Concat(lost, now))
		if err = t.openBlocks(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		opts := tierOptions(s)
		opts.RetentionDuration = time.Duration(1 << 62).Milliseconds()
		opts.BlockQuerierFunc = t.damage.querier
		if t.head, err = openEngine(tmp, slog.New(slog.DiscardHandler), opts); err != nil {
			return nil, errors.Join(fmt.Errorf("reading the log of %s: %w", dir, err), t.close())
		}
		return t, nil
	}
	return nil, fmt.Errorf("copying the log of %s: it changed %d times meanwhile: %w", dir, copyTries, err)
}

func (t *readTier) openBlocks(dir string) error {
	blocks, err := blockDirs(dir)
	if err != nil {
		return err
	}
	for _, path := range blocks {
		b, err := tsdb.OpenBlock(slog.New(slog.DiscardHandler), path, nil, nil)
		if errors.Is(err, fs.ErrNotExist) {
			if _, gone := os.Stat(path); errors.Is(gone, fs.ErrNotExist) {
				return errors.Join(err, t.close()) // merged into another one
			}
		}
		if err != nil {
			t.damage.add(fmt.Sprintf("the block %s of %s cannot be opened: %v", filepath.Base(path), span(path, path), err))
			continue
		}
		t.blocks = append(t.blocks, b)
	}
	return nil
}

// copyHead copies what a tier has not made into blocks yet.
func copyHead(dir, tmp string) error {
	for _, sub := range []string{"wal", "wbl", "chunks_head"} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == filepath.Join(dir, sub) {
				return nil // nothing was out of order yet
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.MkdirAll(filepath.Join(tmp, rel), 0o700)
			}
			return copyFile(path, filepath.Join(tmp, rel))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (t *readTier) querier(mint, maxt int64) (storage.Querier, error) {
	var all []storage.Querier
	for _, b := range t.blocks {
		if !b.OverlapsClosedInterval(mint, maxt) {
			continue
		}
		q, err := t.damage.querier(b, mint, maxt)
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
		all = append(all, q)
	}
	q, err := t.head.Querier(mint, maxt)
	if err != nil {
		return nil, errors.Join(err, closeAll(all))
	}
	return storage.NewMergeQuerier(append(all, q), nil, storage.ChainedSeriesMerge), nil
}

func closeAll(all []storage.Querier) error {
	var errs []error
	for _, q := range all {
		errs = append(errs, q.Close())
	}
	return errors.Join(errs...)
}

func (t *readTier) oldest() int64 { return oldestOf(t.blocks, t.head.Head()) }

func (t *readTier) newest() int64 { return newestOf(t.blocks, t.head.Head()) }

func (t *readTier) notes() []string { return t.damage.all() }

func (t *readTier) close() error {
	var errs []error
	for _, b := range t.blocks {
		errs = append(errs, b.Close())
	}
	if t.head != nil {
		errs = append(errs, guard(t.head.Close))
	}
	return errors.Join(errs...)
}

func (r *Reader) shelves() shelves {
	var s shelves
	for i, t := range r.tiers {
		s[i] = t
	}
	return s
}

// Query implements Database.
func (r *Reader) Query(ctx context.Context, q Query) (*Result, error) {
	return r.shelves().query(ctx, r.engine, q)
}

// Samples hands over the values of the series of these names, of all without any,
// one series after the other between two instants, and of a little before, as they were recorded: in the finest tier
// that has the time, or the coarsest whose resolution is no longer than a step.
// A value stands for so long at most where the next one is missing. It returns
// what could not be read.
func (r *Reader) Samples(ctx context.Context, from, to time.Time, step time.Duration, names []string, f func(l *Line, stands time.Duration)) (warnings []string, err error) {
	s := r.shelves()
	if err := s.samples(ctx, from, to, step, names, f); err != nil {
		return nil, err
	}
	return s.notes(), nil
}

// Find implements Database.
func (r *Reader) Find(ctx context.Context, selectors []string, from, to time.Time) ([]Line, error) {
	return r.shelves().find(ctx, selectors, from, to)
}

// LabelNames implements Database.
func (r *Reader) LabelNames(ctx context.Context, selectors []string, from, to time.Time) ([]string, error) {
	return r.shelves().labelNames(ctx, selectors, from, to)
}

// LabelValues implements Database.
func (r *Reader) LabelValues(ctx context.Context, name string, selectors []string, from, to time.Time) ([]string, error) {
	return r.shelves().labelValues(ctx, name, selectors, from, to)
}

// Oldest implements Database.
func (r *Reader) Oldest(tier int) time.Time { return fromMilli(r.tiers[tier].oldest()) }

// Newest implements Database.
func (r *Reader) Newest(tier int) time.Time { return fromMilli(r.tiers[tier].newest()) }

// Close lets go of the recording and removes the copy.
func (r *Reader) Close() error {
	var errs []error
	for _, t := range r.tiers {
		if t != nil {
			errs = append(errs, t.close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}
