//go:build !light

package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/compression"
)

// asideDir is where damaged parts are kept, in the directory of a recording.
const asideDir = "damaged"

// chunkFile is how large a file of a block's values may be. The engine takes so
// much room on the disk before it writes one; as it comes, that is 512 MiB,
// which a small disk does not have.
const chunkFile = 8 << 20

// late is how old a value may be against the newest: a clock that is set back
// by no more loses nothing.
const late = 2 * time.Hour

// tier is one database.
type tier struct {
	spec
	dir    string
	db     *tsdb.DB
	refs   map[*Series]storage.SeriesRef
	damage *damage
}

// openTier opens a tier; lost are the times of all tiers that could not be read.
func openTier(o Options, i int, s spec, lost []loss) (*tier, error) {
	t := &tier{
		spec: s, dir: filepath.Join(o.Dir, s.name),
		refs: map[*Series]storage.SeriesRef{}, damage: &damage{log: o.Log},
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	t.damage.remember(s.name, lost)
	if err := setAside(t.dir, filepath.Join(o.Dir, asideDir), t.damage); err != nil {
		return nil, err
	}
	opts := tierOptions(s)
	keep := room{dir: t.dir, keep: max(o.Keep[i].Milliseconds(), s.block.Milliseconds()), most: o.MaxBytes / 100 * shares()[i]}
	if o.Dropped != nil {
		keep.dropped = func(from, to time.Time) { o.Dropped(s.name, from, to) }
	}
	opts.BlocksToDelete = keep.gone
	opts.BlockQuerierFunc = t.damage.querier
	db, err := openEngine(t.dir, quiet(o.Log), opts)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", t.dir, err)
	}
	t.db = db
	return t, nil
}

// openEngine opens a database that does nothing on its own: maintain is called
// for it. The engine panics where it cannot write chunks of what is in memory,
// in goroutines of its own when it reads its log back; so room for that is
// looked for first.
func openEngine(dir string, log *slog.Logger, opts *tsdb.Options) (*tsdb.DB, error) {
	if err := hasRoom(dir, diskUse(filepath.Join(dir, "wal"))+spare); err != nil {
		return nil, err
	}
	opts.BlockReloadInterval = math.MaxInt64
	db, err := tsdb.Open(dir, log, nil, opts, nil)
	if err != nil {
		return nil, err
	}
	db.DisableCompactions()
	return db, nil
}

// spare is the room on disk that must be left to open a database.
const spare = 1 << 20

// hasRoom tells whether a file system takes n bytes more.
func hasRoom(dir string, n int64) error {
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return fmt.Errorf("looking for room: %w", err)
	}
	err = fallocate(f, n)
	if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("looking for room for %d bytes: %w", n, err)
	}
	return nil
}

// fallocate takes room for a file, where the file system can.
func fallocate(f *os.File, n int64) error {
	for {
		switch err := syscall.Fallocate(int(f.Fd()), 0, 0, n); err {
		case syscall.EINTR:
		case syscall.EOPNOTSUPP, syscall.ENOSYS:
			return nil
		default:
			return err
		}
	}
}

// maintain makes blocks of what has been in memory for long enough, merges
// blocks and removes those that are too old or too much. Before that it moves
// full chunks out of memory: the engine does so when it looks for new blocks by
// itself, which it does not here. Without that they stay until there is a block
// of them: of the five minutes for 18 hours.
func (t *tier) maintain(ctx context.Context) error {
	err := guard(func() error {
		t.db.ForceHeadMMap()
		return t.db.Compact(ctx)
	})
	if err != nil {
		return fmt.Errorf("making blocks of %s: %w", t.dir, err)
	}
	return nil
}

// guard makes the engine's panics errors: it has no other answer to a disk
// that is full while it writes chunks.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if cause, ok := p.(error); ok {
				err = fmt.Errorf("the storage engine failed: %w", cause)
			} else {
				err = fmt.Errorf("the storage engine failed: %v", p)
			}
		}
	}()
	return f()
}

func tierOptions(s spec) *tsdb.Options {
	opts := tsdb.DefaultOptions()
	opts.MinBlockDuration = s.block.Milliseconds()
	opts.MaxBlockDuration = s.most.Milliseconds()
	opts.WALSegmentSize = s.segment
	opts.MaxBlockChunkSegmentSize = chunkFile
	opts.WALCompression = compression.Snappy
	if s.resolution == 0 { // written every second: two thirds of what Snappy makes of it, for a megabyte of memory
		opts.WALCompression = compression.Zstd
	}
	opts.WALReplayConcurrency = 1
	opts.StripeSize = 512
	opts.HeadChunksWriteBufferSize = chunks.MinWriteBufferSize
	opts.HeadChunksWriteQueueSize = 0
	opts.OutOfOrderTimeWindow = late.Milliseconds()
	opts.NoLockfile = true // the recording has its own
	return opts
}

// append adds frames, all or none.
func (t *tier) append(frames []Frame) (Appended, error) {
	var a Appended
	err := guard(func() error { return t.appendTo(&a, frames) })
	return a, err
}

func (t *tier) appendTo(a *Appended, frames []Frame) error {
	app := t.db.Appender(context.Background())
	for _, f := range frames {
		at := f.At.UnixMilli()
		for _, v := range f.Values {
			ref, err := app.Append(t.refs[v.Of], v.Of.labels, at, v.V)
			switch {
			case err == nil:
				t.refs[v.Of] = ref
				a.Kept++
			case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrOutOfBounds),
				errors.Is(err, storage.ErrTooOldSample), errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
				a.Refused++
			default:
				return errors.Join(fmt.Errorf("adding to %s: %w", t.dir, err), app.Rollback())
			}
		}
	}
	if err := app.Commit(); err != nil {
		return fmt.Errorf("adding to %s: %w", t.dir, err)
	}
	return nil
}

// forget lets go of what is known of all series: those that ended would pile up.
func (t *tier) forget() { clear(t.refs) }

func (t *tier) newest() int64 { return newestOf(t.db.Blocks(), t.db.Head()) }

func (t *tier) oldest() int64 { return oldestOf(t.db.Blocks(), t.db.Head()) }

// newestOf is the newest value's instant. That of a block is where its range
// ends, which may be in the future: of blocks of values that came out of order.
// So they count only where there is nothing in memory.
func newestOf(blocks []*tsdb.Block, head *tsdb.Head) int64 {
	if head.NumSeries() > 0 && head.MaxTime() != math.MinInt64 {
		return head.MaxTime()
	}
	newest := int64(none)
	for _, b := range blocks {
		newest = max(newest, b.Meta().MaxTime-1)
	}
	return newest
}

func oldestOf(blocks []*tsdb.Block, head *tsdb.Head) int64 {
	oldest := int64(math.MaxInt64)
	for _, b := range blocks {
		oldest = min(oldest, b.Meta().MinTime)
	}
	if head.NumSeries() > 0 {
		oldest = min(oldest, head.MinTime(), head.MinOOOTime())
	}
	if oldest == math.MaxInt64 {
		return none
	}
	return oldest
}

// blockDirs are the directories of the blocks in a tier.
func blockDirs(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range all {
		if _, err := ulid.ParseStrict(d.Name()); err == nil && d.IsDir() {
			out = append(out, filepath.Join(dir, d.Name()))
		}
	}
	return out, nil
}

// setAside moves blocks that cannot be opened out of the way, so that the
// others can be read: one bad block would keep the engine from starting.
func setAside(dir, to string, d *damage) error {
	blocks, err := blockDirs(dir)
	if err != nil {
		return err
	}
	for _, path := range blocks {
		b, err := tsdb.OpenBlock(quiet(nil), path, nil, nil)
		if err == nil {
			if err := b.Close(); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		dest := filepath.Join(to, filepath.Base(dir)+"-"+filepath.Base(path))
		if err := os.Rename(path, dest); err != nil {
			return fmt.Errorf("setting a damaged block aside: %w", err)
		}
		d.add(fmt.Sprintf("the block %s of %s cannot be opened and was moved to %s: %v",
			filepath.Base(path), span(path, dest), dest, err))
	}
	return nil
}

// quiet is the engine's log without what it says in the normal course.
func quiet(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(atLeast{log.Handler(), slog.LevelWarn}).With("from", "storage")
}

// atLeast lets only records of a level and above through.
type atLeast struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (a atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= a.level && a.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (a atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{a.Handler.WithAttrs(attrs), a.level}
}

// WithGroup implements slog.Handler.
func (a atLeast) WithGroup(name string) slog.Handler {
	return atLeast{a.Handler.WithGroup(name), a.level}
}
