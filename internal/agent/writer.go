package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/store/series"
)

// writer brings frames from memory to disk. It is the only part that waits for
// the disk; whoever measures never does.
type writer struct {
	opts series.Options
	ring *ring
	log  *slog.Logger

	mu  sync.Mutex
	rec *series.Recording // nil while it cannot be written

	patience time.Duration // with a write; 0: for ever
	since    atomic.Int64  // nanoseconds since 1970: when the write that is under way began; 0: there is none
	telling  sync.Mutex    // guards what was said
	hung     bool          // that the disk hangs
	lossSaid time.Time

	kept, refused, reopened atomic.Int64
	writable                atomic.Bool
	disk                    atomic.Int64
	ended                   atomic.Bool // a series has ended
}

const (
	batch       = 20_000                 // values in one go
	gathering   = 100 * time.Millisecond // all sources read at the same instant: one record of the log takes less than one of each
	slowestTry  = 30 * time.Second
	upkeepEvery = time.Minute
)

// recording is what can be read now, nil when nothing can.
func (w *writer) recording() *series.Recording {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rec
}

func (w *writer) set(r *series.Recording) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rec = r
	w.writable.Store(r != nil)
}

// open opens the recording; a recording that another agent writes is for the
// caller to say, all else is tried again.
func (w *writer) open() error {
	r, err := series.Open(w.opts)
	if err != nil {
		return err
	}
	w.opts.Retried = false
	w.disk.Store(r.Bytes())
	if last := r.Newest(0); !last.IsZero() {
		w.log.Info("the history continues", "dir", w.opts.Dir, "last_value", last.UTC().Format(time.RFC3339),
			"missing_for", w.opts.Now().Sub(last).Round(time.Second).String())
	} else {
		w.log.Info("the history is new", "dir", w.opts.Dir)
	}
	w.set(r)
	return nil
}

// run writes until ctx ends, and then what is left.
func (w *writer) run(ctx context.Context) {
	var held []series.Frame // taken from the ring, not written yet
	var wait time.Duration
	for {
		last := !await(ctx, wait, w.ring.wake) || !sleep(ctx, gathering)
		held, wait = w.write(held, wait)
		if last {
			w.finish(held)
			return
		}
		w.tell(time.Now())
	}
}

// hangs tells whether the disk has not answered for too long.
func (w *writer) hangs(now time.Time) bool {
	since := w.since.Load()
	return since != 0 && w.patience > 0 && now.Sub(time.Unix(0, since)) > w.patience
}

// lossesEvery is how often values that are lost are said to be.
const lossesEvery = time.Minute

// tell says that the disk hangs, and what is lost. It does not wait for the
// writer, which may be what hangs.
func (w *writer) tell(now time.Time) {
	w.telling.Lock()
	defer w.telling.Unlock()
	switch hangs := w.hangs(now); {
	case hangs && !w.hung:
		w.hung = true
		w.log.Error("the disk does not answer; values are kept in memory", "for", now.Sub(time.Unix(0, w.since.Load())).Round(time.Second).String())
	case !hangs && w.hung:
		w.hung = false
		w.log.Info("the disk answers again")
	}
	if now.Sub(w.lossSaid).Abs() < lossesEvery {
		return
	}
	if first := w.ring.losses(); !first.IsZero() {
		w.lossSaid = now
		_, lost := w.ring.waiting()
		w.log.Error("the buffer for unwritten values is full: the oldest are lost",
			"from", first.UTC().Format(time.RFC3339), "lost_so_far", lost)
	}
}

// await waits so long, or without a time until wake; false when ctx has ended.
func await(ctx context.Context, wait time.Duration, wake <-chan struct{}) bool {
	if wait > 0 {
		return sleep(ctx, wait)
	}
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	}
}

// write writes all that there is. It returns what could not be written and how
// long to wait before the next try.
func (w *writer) write(held []series.Frame, waited time.Duration) ([]series.Frame, time.Duration) {
	w.since.Store(time.Now().UnixNano())
	defer w.since.Store(0)
	fail := func(what string, err error) ([]series.Frame, time.Duration) {
		wait := min(max(2*waited, time.Second), slowestTry)
		w.log.Error(what, "why", err, "next_try_in", wait)
		return held, wait
	}
	if w.rec == nil {
		if err := w.open(); err != nil {
			return fail("the history cannot be opened; values are kept in memory", err)
		}
		w.reopened.Add(1)
	}
	if err := w.rec.Check(); err != nil {
		w.abandon()
		return fail("the history is lost; a new one begins", err)
	}
	if w.ended.Swap(false) {
		w.rec.Forget()
	}
	for {
		if len(held) == 0 {
			if held = w.ring.take(batch); len(held) == 0 {
				return nil, 0
			}
		}
		a, err := w.rec.Append(held)
		if err != nil {
			w.abandon()
			w.opts.Retried = true // held is written again
			return fail("the history cannot be written; values are kept in memory", err)
		}
		w.since.Store(time.Now().UnixNano())
		w.kept.Add(int64(a.Kept))
		w.refused.Add(int64(a.Refused))
		held = nil
	}
}

// abandon closes a recording that failed. Its error says no more than the one
// before it.
func (w *writer) abandon() {
	r := w.rec
	w.set(nil)
	if err := r.Close(); err != nil {
		w.log.Debug("closing a history that failed", "why", err)
	}
}

func (w *writer) finish(held []series.Frame) {
	left, lost := w.ring.waiting()
	for _, f := range held {
		left += len(f.Values)
	}
	if left > 0 || lost > 0 {
		w.log.Error("values were lost", "never_written", left, "pushed_out", lost)
	}
	if w.rec == nil {
		return
	}
	if err := w.rec.Close(); err != nil {
		w.log.Error("the history was not closed cleanly", "why", err)
	}
	w.set(nil)
}

// upkeep makes blocks and rolls up, every minute, until ctx ends.
func (w *writer) upkeep(ctx context.Context) {
	for sleep(ctx, upkeepEvery) {
		r := w.recording()
		if r == nil {
			continue
		}
		w.attempt(ctx, "rolling up failed; it will be retried", r.Roll)
		w.attempt(ctx, "making blocks failed; it will be retried", r.Maintain)
		w.disk.Store(r.Bytes())
	}
}

func (w *writer) attempt(ctx context.Context, failed string, f func(context.Context) error) {
	if err := f(ctx); err != nil && !errors.Is(err, series.ErrClosed) && ctx.Err() == nil {
		w.log.Error(failed, "why", err)
	}
}
