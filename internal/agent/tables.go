package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

// TablesIn is the folder of the tables, in that of the recording.
const TablesIn = "tables"

// tables keeps the busiest processes and cgroups of each interval: in memory
// while the disk does not take them, as the series are.
type tables struct {
	rows  int
	log   *slog.Logger
	shelf *recording.Shelf // of the goroutine that runs run
	wake  chan struct{}
	gaps  gaps // of the newest window

	mu      sync.Mutex
	waiting []*sample.Window

	kept, lost, disk atomic.Int64
}

// mostTables are how many wait in memory: half an hour of the default.
const mostTables = 180

func newTables(c *Config, log *slog.Logger, short *shortage, program string) *tables {
	return &tables{rows: c.Tables.Rows, log: log, wake: make(chan struct{}, 1), shelf: recording.NewShelf(recording.ShelfOptions{
		Dir: filepath.Join(c.Dir, TablesIn), Keep: c.Tables.Keep, MaxBytes: c.Tables.Disk,
		Dropped: func(from, to time.Time) { short.dropped(TablesIn, from, to) },
		Header:  recording.Header{Program: program, Interval: c.Tables.Interval.Seconds(), Sources: []recording.Source{{Name: busiestSource}}},
	})}
}

// take chooses the rows of a window. It never waits for the disk.
func (t *tables) take(w *sample.Window) {
	one := busiest(w, t.rows, t.gaps.all())
	t.mu.Lock()
	t.waiting = append(t.waiting, one)
	if len(t.waiting) > mostTables {
		t.waiting = t.waiting[1:]
		if t.lost.Add(1) == 1 {
			t.log.Error("the buffer for unwritten tables is full: the oldest are lost")
		}
	}
	t.mu.Unlock()
	signal(t.wake)
}

// first is the oldest table that waits, nil when there is none.
func (t *tables) first() *sample.Window {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return nil
	}
	return t.waiting[0]
}

// written drops the oldest table, if it is still there.
func (t *tables) written(w *sample.Window) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) > 0 && t.waiting[0] == w {
		t.waiting = t.waiting[1:]
	}
}

// run writes until ctx ends, and then what is left.
func (t *tables) run(ctx context.Context) {
	wait := time.Duration(0)
	for {
		last := !await(ctx, wait, t.wake)
		if err := t.write(); err != nil {
			wait = min(max(2*wait, time.Second), slowestTry)
			t.log.Error("the tables of processes and cgroups cannot be written; they are kept in memory", "why", err, "next_try_in", wait)
		} else {
			wait = 0
		}
		if last {
			break
		}
	}
	t.mu.Lock()
	left := len(t.waiting)
	t.mu.Unlock()
	if left > 0 {
		t.log.Error("tables were lost", "never_written", left, "pushed_out", t.lost.Load())
	}
	if err := t.shelf.Close(); err != nil {
		t.log.Error("a file of tables was not closed cleanly", "why", err)
	}
}

// write writes all that waits.
func (t *tables) write() error {
	for w := t.first(); w != nil; w = t.first() {
		if err := t.shelf.Window(&recording.Record{Window: w}); err != nil {
			return err
		}
		t.written(w)
		t.kept.Add(1)
		t.disk.Store(t.shelf.Bytes())
	}
	return nil
}

// SectionTop is the tables around an incident, as a piece of its evidence.
const SectionTop = "top"

const (
	beforeTables = time.Minute // that is kept of them with an incident
	mostTop      = time.Hour   // from its beginning on
)

// TablesAround are the tables that the agent of a folder kept from a minute
// before an incident to its end, of an hour at most, as evidence. ok is false
// where there are none. Damaged ones are left out: the tables themselves say
// so.
func TablesAround(dir, program string, from, to time.Time) (s incidents.Section, ok bool, err error) {
	if last := from.Add(mostTop); to.After(last) {
		to = last
	}
	data, err := tablesBetween(dir, program, from.Add(-beforeTables), to)
	return incidents.Section{Name: SectionTop, Type: "application/x-iocause-recording", Data: data}, len(data) > 0, err
}

// tablesBetween is a recording of the tables of a span, empty when there are
// none.
func tablesBetween(dir, program string, from, to time.Time) ([]byte, error) {
	var out bytes.Buffer
	var w *recording.Writer
	_, err := recording.EachShelved(filepath.Join(dir, TablesIn), from, to, func(r *recording.Record) (err error) {
		if w == nil {
			if w, err = recording.NewWriter(&out, recording.Header{Program: program, Began: r.Window.Start, Interval: r.Window.Seconds(),
				Sources: []recording.Source{{Name: busiestSource}}}); err != nil {
				return err
			}
		}
		return w.Window(r)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if w == nil {
		return nil, err
	}
	err = errors.Join(err, w.End(recording.End{})) // before the bytes are taken
	return out.Bytes(), err
}
