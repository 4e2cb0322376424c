package session

import (
	"context"
	"time"
)

// Shortest is the shortest interval that shows anything.
const Shortest = 100 * time.Millisecond

// Loop cuts an observation into intervals. They end at whole multiples of Every
// after the beginning, so that lateness never adds up. When one ends so late
// that others would be over, too, it takes their place and their number: they
// never queue up.
type Loop struct {
	Every time.Duration   // 0: one interval, that the context or Until ends
	Count int             // of intervals; 0: until the context or Until ends it
	Until <-chan struct{} // ends it when closed, as the context does; may be nil

	// During is called every Tick within an interval, to take in what would get
	// lost else. The last quarter of a Tick before the end has none: the end is
	// about to take it in anyway.
	Tick   time.Duration
	During func() error

	// Show is called every 200 ms with how long the interval has lasted; may be nil.
	Show func(elapsed time.Duration)
}

// Interval is one that has just ended.
type Interval struct {
	Start  time.Time
	Length time.Duration
	Last   bool // none follows
}

// showEvery is how often progress is shown.
const showEvery = 200 * time.Millisecond

// Run calls f at the end of each interval. An interval that the context or Until
// cuts short is the last. An error of f or of During ends it.
func (l *Loop) Run(ctx context.Context, f func(Interval) error) error {
	began := time.Now()
	var show <-chan time.Time
	if l.Show != nil {
		t := time.NewTicker(showEvery)
		defer t.Stop()
		show = t.C
	}
	start := began
	for n := 1; ; n++ { // the number of the interval
		cut, err := l.wait(ctx, began, start, n, show)
		if err != nil {
			return err
		}
		now := time.Now()
		for l.Every > 0 && l.end(began, n+1).Before(now) {
			n++
		}
		last := cut || l.Count > 0 && n >= l.Count
		if err := f(Interval{start, now.Sub(start), last}); err != nil || last {
			return err
		}
		start = now
	}
}

// end is when an interval ends.
func (l *Loop) end(began time.Time, n int) time.Time { return began.Add(time.Duration(n) * l.Every) }

// wait waits for the end of an interval. cut tells that something ended it.
func (l *Loop) wait(ctx context.Context, began, start time.Time, n int, show <-chan time.Time) (cut bool, err error) {
	var over, tick <-chan time.Time
	if l.Every > 0 {
		t := time.NewTimer(time.Until(l.end(began, n)))
		defer t.Stop()
		over = t.C
	}
	var next *time.Timer
	if l.During != nil {
		next = time.NewTimer(l.untilTick(began))
		defer next.Stop()
		tick = next.C
	}
	for {
		select {
		case <-ctx.Done():
			return true, nil
		case <-l.Until:
			return true, nil
		case <-over:
			return false, nil
		case <-show:
			l.Show(time.Since(start))
		case <-tick:
			if l.Every == 0 || time.Until(l.end(began, n)) > l.Tick/4 {
				if err := l.During(); err != nil {
					return false, err
				}
			}
			next.Reset(l.untilTick(began))
		}
	}
}

// untilTick is the time to the next tick. Those that During took too long for
// drop out.
func (l *Loop) untilTick(began time.Time) time.Duration { return l.Tick - time.Since(began)%l.Tick }
