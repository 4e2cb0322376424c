package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/series"
)

// feed reads one source at its own pace, in a goroutine of its own: one that
// hangs holds up no other.
type feed struct {
	host    *host.Host
	entry   source.Entry
	base    time.Duration // between readings, as set
	setting bool          // the source gives its values at the start only: it is begun anew each time
	log     *slog.Logger
	out     func(series.Frame)
	ended   func(*series.Series)
	absent  func(*series.Series) // has no value now
	stepped func()               // the clock was set
	seen    func(*sample.Window)
	table   bool // what it reads is no series: seen keeps it
	late    bool // it is costly to open: not before it is read for the first time

	infos map[sample.Metric][]sample.Info // all feeds share it, and none writes to it
	known map[of]*stream
	last  time.Time // the instant of the newest frame

	spread map[of]*distribution // of the source of latencies
	full   sync.Once            // there was no room for one more

	factor atomic.Int64 // the interval is base times this
	spent  atomic.Int64 // nanoseconds in the source, ever
	kernel atomic.Int64 // nanoseconds a second of its kernel programs, in the newest window
	up     atomic.Bool

	hanging atomic.Int64 // calls that were given up and have not come back
}

type of struct {
	metric sample.Metric
	entity sample.Entity
}

// stream is one series as it grows.
type stream struct {
	series *series.Series
	total  float64 // of a counter
	seen   time.Time
}

const (
	patience   = 10 * time.Second // for one reading
	tryAgain   = time.Minute      // after a source failed to open or hung
	tryLongest = time.Hour
	// mostHanging is how many calls may hang for a source to be tried once more:
	// each has a thread, and a process has few.
	mostHanging = 3
	forgetting  = 10 * time.Minute // after the last value of a series
	drift       = 4                // an instant may be off by this part of the interval
	// leastOfFirst is the part of an interval that the first window has at least:
	// shares of less than that tell little.
	leastOfFirst = 4
	// stepAtLeast is how far the clock of the wall leaves the other one for it
	// to have been set.
	stepAtLeast = 500 * time.Millisecond
)

var (
	errFirst    = errors.New("the first reading is done")
	errInterval = errors.New("the interval was changed")
	errAlign    = errors.New("the readings are not at whole intervals")
	errStepped  = errors.New("the clock was set, or the machine slept")
	errStuck    = errors.New("the source hangs")
)

func (f *feed) interval() time.Duration { return f.base * time.Duration(f.factor.Load()) }

// run reads until ctx ends.
func (f *feed) run(ctx context.Context) {
	if f.late {
		f.align(ctx)
	}
	for wait := tryAgain; ; wait = min(2*wait, tryLongest) {
		began := time.Now()
		err := f.read(ctx)
		f.up.Store(false)
		f.kernel.Store(0)
		if ctx.Err() != nil {
			return
		}
		for _, x := range f.known { // what was read last is not of this moment
			f.absent(x.series)
		}
		for _, d := range f.spread {
			d.each(f.absent)
		}
		if time.Since(began) > 2*wait {
			wait = tryAgain
		}
		f.log.Warn("a source cannot be read", "source", f.entry.Name, "why", err, "next_try_in", wait)
		if !sleep(ctx, wait) {
			return
		}
		for f.hanging.Load() >= mostHanging {
			if !sleep(ctx, tryAgain) {
				return
			}
		}
	}
}

// read opens the source and reads it until it fails.
func (f *feed) read(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, patience)
	c := source.Open(opening, f.host, []source.Entry{f.entry})
	cancel()
	defer c.Close() // reading has ended: an error changes nothing
	if err := c.Statuses()[0].OpenErr; err != nil {
		return err
	}
	c.Patience, c.Hanging = patience, &f.hanging
	if f.setting || f.late {
		f.align(ctx)
	}
	c.Begin()
	f.up.Store(true)
	before, failures := time.Duration(0), 0
	for windows := f.first; ; windows = f.windows {
		every := f.interval()
		err := windows(ctx, c, every, func(w *sample.Window) error {
			s := c.Statuses()[0]
			f.spent.Add(int64(s.Spent - before))
			before = s.Spent
			if s.Stuck {
				return fmt.Errorf("%w: %w", errStuck, s.Err)
			}
			if s.Failures > 0 && failures == 0 {
				f.log.Warn("a source cannot be read in full", "source", f.entry.Name, "why", s.Err)
			}
			failures = s.Failures
			if ctx.Err() != nil {
				return nil
			}
			return f.take(w, c.Instant(), every)
		})
		switch {
		case errors.Is(err, errInterval), errors.Is(err, errAlign):
		case errors.Is(err, errStepped):
			f.stepped()
		default:
			return err
		}
		f.align(ctx)
	}
}

// first is windows, with a first window that ends at the next whole interval: who
// has just started the agent waits for no more than that.
func (f *feed) first(ctx context.Context, c *source.Collector, every time.Duration, take func(*sample.Window) error) error {
	if !f.setting && !f.late {
		length := f.untilWhole()
		if length < every/leastOfFirst {
			length += every
		}
		err := c.Intervals(ctx, length, 0, func(w *sample.Window) error { return cmp.Or(take(w), errFirst) })
		if !errors.Is(err, errFirst) || ctx.Err() != nil {
			return err
		}
	}
	return f.windows(ctx, c, every, take)
}

// windows gives window after window to take.
func (f *feed) windows(ctx context.Context, c *source.Collector, every time.Duration, take func(*sample.Window) error) error {
	if !f.setting {
		return c.Intervals(ctx, every, 0, take)
	}
	over := make(chan struct{})
	close(over)
	for {
		if err := take(c.Observe(ctx, source.Observation{Until: over})); err != nil || ctx.Err() != nil {
			return err
		}
		f.align(ctx)
		c.Begin()
	}
}

// align waits for the next whole interval of the clock.
func (f *feed) align(ctx context.Context) { sleep(ctx, f.untilWhole()) }

// untilWhole is the time to it.
func (f *feed) untilWhole() time.Duration {
	now := f.host.Now()
	return now.Truncate(f.interval()).Add(f.interval()).Sub(now)
}

// take makes a frame of a window that ended at read. Its instant is a whole
// interval, so that the series of all sources can be laid beside each other and
// take little room. It is the clock's at the reading: the start and length of
// the window lead to another one when the clock was set in between, or stood
// still while the machine slept.
func (f *feed) take(w *sample.Window, read time.Time, every time.Duration) error {
	read = read.Round(0)
	frame := series.Frame{At: read.Round(every)}
	metrics := []sample.Metric{sample.CostCollect}
	if !f.table {
		metrics = append(metrics, f.entry.Metrics...)
	}
	for _, m := range metrics {
		infos := f.infos[m]
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != 0 || e.File != (sample.FileID{}) {
				return
			}
			for _, info := range infos {
				frame.Values = append(frame.Values, f.value(info, e, s, read))
			}
		})
	}
	frame.Values = append(frame.Values, f.distributions(w, read)...)
	kernel := 0.0
	w.Each(sample.CostBPFTime, func(_ sample.Entity, s *sample.Series) { kernel += s.Sum() })
	f.kernel.Store(int64(kernel / every.Seconds() * float64(time.Second)))
	f.forget(read)
	f.seen(w)
	// A reading that came late may bear the instant of the next: what counters
	// rose by meanwhile is in the next frame.
	if !frame.At.Equal(f.last) {
		f.last = frame.At
		f.out(frame)
	}
	if off := read.Sub(w.Start.Round(0)) - w.Length; off.Abs() > stepAtLeast {
		return errStepped
	}
	if off := read.Sub(frame.At); off.Abs() > every/drift {
		return errAlign
	}
	if f.interval() != every {
		return errInterval
	}
	return nil
}

func (f *feed) value(info sample.Info, e sample.Entity, s *sample.Series, now time.Time) series.Value {
	k := of{info.Metric, e}
	x := f.known[k]
	if x == nil {
		x = &stream{series: series.New(series.NameOf(info), labelsOf(e)...)}
		f.known[k] = x
	}
	x.seen = now
	if info.Kind == sample.Gauge {
		return series.Value{Of: x.series, V: series.Short(s.Last())}
	}
	x.total += s.Sum()
	return series.Value{Of: x.series, V: series.Fine(x.total)}
}

// forget drops what is known of series that have ended: devices come and go.
func (f *feed) forget(now time.Time) {
	for k, x := range f.known {
		if now.Sub(x.seen).Abs() > forgetting {
			f.ended(x.series)
			delete(f.known, k)
		}
	}
}

// sleep waits and tells whether ctx still lasts.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
