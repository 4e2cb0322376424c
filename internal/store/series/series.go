//go:build !light

package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// nameLabel holds the name of a series, as everywhere in Prometheus.
const nameLabel = "__name__"

// Built tells that there is a storage engine: nil. The light build has none.
func Built() error { return nil }

// Series is the identity of one series. It is made once and used for all its
// values. Safe for concurrent use.
type Series struct{ labels labels.Labels }

// New names a series. Empty labels are left out; values may hold any byte:
// what is no UTF-8 is replaced, as the formats that it goes out in require.
func New(name string, of ...Label) *Series {
	b := labels.NewScratchBuilder(len(of) + 1)
	b.Add(nameLabel, name)
	for _, l := range of {
		if l.Value != "" {
			b.Add(l.Name, strings.ToValidUTF8(l.Value, "\uFFFD"))
		}
	}
	b.Sort()
	return &Series{b.Labels()}
}

// Name is the name without labels.
func (s *Series) Name() string { return s.labels.Get(nameLabel) }

// Labels are the labels without the name, sorted.
func (s *Series) Labels() []Label {
	_, out := split(s.labels)
	return out
}

func split(l labels.Labels) (name string, out []Label) {
	l.Range(func(x labels.Label) {
		if x.Name == nameLabel {
			name = x.Value
		} else {
			out = append(out, Label{x.Name, x.Value})
		}
	})
	return name, out
}

// shares are the tiers' parts of MaxBytes, in percent.
func shares() [Tiers]int64 { return [Tiers]int64{70, 22, 8} }

// Recording is a recording that is being written. Append, Forget and Close are
// called from one goroutine, Roll and Maintain from one, queries from any.
type Recording struct {
	o      Options
	lock   *os.File
	engine *promql.Engine

	mu    sync.RWMutex // guards tiers against being closed while they are read
	tiers [Tiers]*tier
}

// Open opens a recording for writing, and makes it when it is missing. It
// fails with ErrLocked while another process has it. What a crash or a damaged
// file has cost is logged; damaged blocks are moved to "damaged".
func Open(o Options) (*Recording, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the history in %s: %w", o.Dir, err)
	}
	r := &Recording{o: o, lock: lock, engine: newEngine(mostBeside)}
	before, err := mendAll(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the history in %s: %w", o.Dir, err), r.Close())
	}
	for i, spec := range specs() {
		t, err := openTier(o, i, spec, before)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the history in %s: %w", o.Dir, err), r.Close())
		}
		r.tiers[i] = t
	}
	return r, nil
}

// lockDir takes the lock of a directory. The kernel lets go of it when the
// process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking it: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking it: %w", err)
	}
	return f, nil
}

// Check tells whether the directory is still the one that was opened.
func (r *Recording) Check() error {
	ours, err := r.lock.Stat()
	if err != nil {
		return fmt.Errorf("examining the history: %w", err)
	}
	there, err := os.Stat(filepath.Join(r.o.Dir, "lock"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ErrGone
	case err != nil:
		return fmt.Errorf("examining the history: %w", err)
	case !os.SameFile(ours, there):
		return ErrGone
	}
	for _, spec := range specs() {
		if _, err := os.Stat(filepath.Join(r.o.Dir, spec.name, "wal")); errors.Is(err, os.ErrNotExist) {
			return ErrGone
		}
	}
	return nil
}

// Append adds frames, all or none: after an error the recording must be closed
// and opened anew, and the frames appended again.
func (r *Recording) Append(frames []Frame) (a Appended, err error) {
	err = r.reading(func(shelves) error {
		a, err = r.tiers[0].append(frames)
		return err
	})
	return a, err
}

// Maintain makes blocks of what is in memory, merges them, and removes what is
// older than it is kept or more than the recording may take. It may take long
// on a slow disk; Append and queries go on meanwhile. To be called every minute.
func (r *Recording) Maintain(ctx context.Context) error {
	return r.reading(func(shelves) error {
		var errs []error
		for _, t := range r.tiers {
			errs = append(errs, t.maintain(ctx))
		}
		return errors.Join(errs...)
	})
}

// Forget lets go of what is kept of series that were appended. To be called
// when some have ended.
func (r *Recording) Forget() { r.tiers[0].forget() }

// Newest is the instant of the newest value of a tier, zero when it is empty.
func (r *Recording) Newest(tier int) (at time.Time) {
	_ = r.reading(func(s shelves) error { // closed: nothing is there
		at = fromMilli(s[tier].newest())
		return nil
	})
	return at
}

// Oldest is the instant of the oldest value of a tier, zero when it is empty.
func (r *Recording) Oldest(tier int) (at time.Time) {
	_ = r.reading(func(s shelves) error {
		at = fromMilli(s[tier].oldest())
		return nil
	})
	return at
}

// Bytes is how much room the recording takes on disk.
func (r *Recording) Bytes() int64 { return diskUse(r.o.Dir) }

// Damage is what was found damaged so far, for people.
func (r *Recording) Damage() (all []string) {
	_ = r.reading(func(s shelves) error {
		all = s.notes()
		return nil
	})
	return all
}

// Close writes what is in memory and lets go of the directory.
func (r *Recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for i, t := range r.tiers {
		if t != nil {
			errs = append(errs, guard(t.db.Close))
			r.tiers[i] = nil
		}
	}
	errs = append(errs, r.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the recording: %w", err)
	}
	return nil
}

const none = math.MinInt64 // an instant that there is not, in milliseconds

func fromMilli(ms int64) time.Time {
	if ms == none {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// diskUse adds up the files below dir; what vanishes meanwhile counts nothing.
func diskUse(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
