package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/series"
	"iocause/internal/table"
)

// An interval of what the agent records all the time is made into a recording as
// 'iocause record' makes them, and played as such: through the same code.

const (
	historySource = "history of iocause agent"
	mostWindows   = 360 // of an interval
	ticks         = 10  // values of each series in a window
)

// OfAgent fails for a folder that no agent has kept anything in.
func OfAgent(dir string) error {
	for _, part := range []string{filepath.Join("raw", "wal"), IncidentsIn} {
		if _, err := os.Stat(filepath.Join(dir, part)); !errors.Is(err, fs.ErrNotExist) {
			return nil // what is wrong with it is said by who reads it
		}
	}
	return fmt.Errorf("replaying %s: this folder is not the directory of an agent; give a file of 'iocause record', the number or file of an incident, or the agent's directory", OneLine(dir))
}

// Agent opens what the agent recorded in an interval. Where the command asks for what
// no series has but the probes see, the newest incident of that time is played
// instead.
func (o *Opener) Agent(s *Interval, ofProbes bool) (*Playback, error) {
	from, to, err := o.Times(s)
	if err != nil {
		return nil, err
	}
	for i, e := range o.Judged(from, to) {
		if !ofProbes || i > 0 {
			o.note("incident %d (%s, %s) is from that time: --recording %s has processes, files and single I/Os",
				e.Number, Stamp(e.Meta.What.Start), e.Meta.Cause, e.Path)
			continue
		}
		one, err := o.File(e.Path, &Interval{})
		if err != nil {
			o.note("incident %d: %v", e.Number, err)
			ofProbes = false
			continue
		}
		o.note("this is the evidence of incident %d, %s from %s on", e.Number,
			table.Duration(one.end.Sub(one.begin).Seconds()), Stamp(one.begin))
		return one, nil
	}
	data, err := o.Recording(from, to)
	if err != nil {
		return nil, err
	}
	return o.Made(data)
}

// Made opens a recording that was made of the agent's series.
func (o *Opener) Made(data []byte) (*Playback, error) {
	one, err := o.Data("the agent's history", data, &Interval{})
	if err != nil {
		return nil, err
	}
	one.OfAgent = true
	return one, nil
}

// Has tells whether a metric of the host is in what the agent recorded in a
// interval, or shortly before it. What is wrong with either is said by who plays it.
func (o *Opener) Has(s *Interval, m sample.Metric) bool {
	from, to, err := o.Times(s)
	if err != nil {
		return false
	}
	r, err := series.OpenReader(o.Dir)
	if err != nil {
		return false
	}
	defer r.Close()
	all := sample.Catalog()
	at := slices.IndexFunc(all, func(i sample.Info) bool { return i.Metric == m })
	found, err := r.Find(context.Background(), series.NamesOf(all[at]), from, to)
	return err == nil && len(found) > 0
}

// Recording makes a recording of an interval of the agent's series.
func (o *Opener) Recording(from, to time.Time) (data []byte, err error) {
	r, err := series.OpenReader(o.Dir)
	if errors.Is(err, series.ErrNoRecording) {
		return nil, fmt.Errorf("%w; 'iocause agent' makes one, --dir names its directory; or give --recording", err)
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h, err := o.history(context.Background(), r, Cut{From: from, To: to, Windows: mostWindows, Ticks: ticks})
	if err != nil {
		return nil, err
	}
	return h.recording(o.Program)
}

// Series is what the agent recorded, from a copy or while it is being written.
type Series interface {
	Oldest(tier int) time.Time
	Samples(ctx context.Context, from, to time.Time, step time.Duration, names []string, f func(l *series.Line, stands time.Duration)) (warnings []string, err error)
}

// Cut is an interval of series and how it is cut into windows.
type Cut struct {
	From, To time.Time
	Windows  int             // at most
	Ticks    int             // values of each series in a window, at most: none is nearer to the next than a second
	Only     []sample.Metric // of these alone; nil for all
}

// Windows hands out what is recorded of an interval, the oldest first, as windows that
// f keeps if it likes.
func (o *Opener) Windows(ctx context.Context, r Series, c Cut, f func(*sample.Window) error) error {
	h, err := o.history(ctx, r, c)
	if err != nil {
		return err
	}
	return h.windows(f)
}

// history reads what a recording has of an interval.
func (o *Opener) history(ctx context.Context, r Series, c Cut) (*history, error) {
	from, to := c.From, c.To
	asked := [2]time.Time{from, to}
	nothing := fmt.Errorf("replaying the history in %s: it has nothing from %s to %s", OneLine(o.Dir), Stamp(from), Stamp(to))
	var oldest [series.Tiers]time.Time // of this tier or a coarser one
	for tier := series.Tiers - 1; tier >= 0; tier-- {
		oldest[tier] = r.Oldest(tier)
		if tier+1 < series.Tiers && !oldest[tier+1].IsZero() && (oldest[tier].IsZero() || oldest[tier+1].Before(oldest[tier])) {
			oldest[tier] = oldest[tier+1]
		}
	}
	if oldest[0].After(from) { // what is asked of the time before there was anything is answered from then on
		from = oldest[0]
	}
	step := max(to.Sub(from)/time.Duration(c.Windows*c.Ticks), time.Second).Truncate(time.Second)
	for tier, least := range []time.Duration{5 * time.Minute, time.Hour} { // the tiers that have the time
		if first := r.Oldest(tier); !first.IsZero() && !from.Before(first) {
			break
		}
		step = max(step, least)
	}
	if !from.Before(to) {
		return nil, nothing
	}
	from, to = from.Truncate(step), to.Add(step-1).Truncate(step)
	if step > time.Second && (from.Before(asked[0]) || to.After(asked[1])) {
		o.note("replayed from %s to %s: the history of that time is in steps of %s", Stamp(from), Stamp(to), table.Duration(step.Seconds()))
	}
	h := newHistory(from, to, step, c.Ticks)
	warnings, err := r.Samples(ctx, from, to, step, namesOf(c.Only), h.take)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		o.note("%s", w)
	}
	known, missing := h.known()
	if !known {
		return nil, nothing
	}
	if missing > step {
		o.note("%s of that time were not recorded", table.Duration(missing.Seconds()))
	}
	return h, nil
}

// namesOf are those of the series of metrics.
func namesOf(metrics []sample.Metric) (names []string) {
	for _, i := range sample.Catalog() {
		if slices.Contains(metrics, i.Metric) {
			names = append(names, series.NamesOf(i)...)
		}
	}
	return names
}
