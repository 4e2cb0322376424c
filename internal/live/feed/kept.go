package feed

import (
	"context"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/live"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
)

// playedBytes is how much memory the windows of a recording take, packed: an
// hour of a busy machine.
const playedBytes = 128 << 20

// Kept plays what was kept: a recording, an incident, an agent's history.
type Kept struct {
	from   *replay.Playback
	target diagnose.Target
	past   *recording.Memory
}

// NewKept prepares to play; the playback stays the caller's to close.
func NewKept(from *replay.Playback, target diagnose.Target) (*Kept, error) {
	past, err := recording.NewMemory(playedBytes)
	if err != nil {
		return nil, err
	}
	return &Kept{from: from, target: target, past: past}, nil
}

// Run implements live.Feed.
func (k *Kept) Run(ctx context.Context, to func([]live.Interval)) error {
	var intervals []live.Interval
	said, n := time.Time{}, 0
	err := k.from.Each(func(r *recording.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := k.past.Add(r); err != nil {
			return err
		}
		first, _ := k.past.Kept()
		intervals = append(intervals, live.Interval{N: n, First: first, Window: r.Window, State: live.State{Ready: true}})
		n++
		if time.Since(said) > 100*time.Millisecond { // so that something is to be seen while the rest is read
			to(intervals)
			intervals, said = nil, time.Now()
		}
		return nil
	})
	if len(intervals) > 0 {
		to(intervals)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// At implements live.Feed.
func (k *Kept) At(n int) (*sample.Window, error) { return k.past.At(n) }

// Judge implements live.Feed.
func (k *Kept) Judge(n int) (*diagnose.Report, error) {
	windows, err := before(k.past, n)
	if err != nil {
		return nil, err
	}
	return judged(windows, k.target)
}

// Want implements live.Feed: what was recorded is there.
func (k *Kept) Want([]string) {}

// Ended implements live.Feed: nobody knows any more.
func (k *Kept) Ended(int) bool { return false }
