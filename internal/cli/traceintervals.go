package cli

import (
	"fmt"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
)

// traceIntervals sums up a trace interval by interval. Intervals are those of
// the I/Os' ends, so that what is traced and what is read from a file is alike.
type traceIntervals struct {
	every time.Duration
	since time.Duration // when this one began
	laps  int
	whole *ioTally
	lost  tracefile.Losses // before this one
}

// rotate ends the interval: prints its tables, and begins the next. It fails
// with errEnough after the last that was asked for.
func (r *traceRun) rotate() error {
	i := r.intervals
	if r.progress != nil { // it shares the terminal
		r.progress.Erase()
	}
	if err := r.summary(i.since, i.every, r.losses.Since(i.lost), r.tally, ""); err != nil {
		return err
	}
	i.lost, i.since, r.tally = r.losses, i.since+i.every, newTally()
	if i.laps++; i.laps == r.o.view.count {
		r.ended = true
		return errEnough
	}
	return nil
}

// until ends the intervals that were over at this time of the trace.
func (r *traceRun) until(at time.Duration) error {
	for i := r.intervals; i != nil && at >= i.since+i.every; {
		if err := r.rotate(); err != nil {
			return err
		}
	}
	return nil
}

// sum counts one I/O.
func (r *traceRun) sum(x *sample.IO) {
	r.taken++
	r.last = max(r.last, x.End())
	if r.intervals == nil {
		r.tally.add(x)
		return
	}
	r.intervals.whole.add(x)
	inside := *x
	inside.Start -= r.intervals.since // bins count from the interval's start
	r.tally.add(&inside)
}

// conclude prints what is left at the end: the interval under way and, where
// nobody said how many there would be, all of them together.
func (r *traceRun) conclude(length time.Duration) error {
	i := r.intervals
	if i == nil {
		return r.summary(0, length, r.losses, r.tally, "")
	}
	if !r.ended && length > i.since {
		if err := r.summary(i.since, length-i.since, r.losses.Since(i.lost), r.tally, ""); err != nil {
			return err
		}
		i.laps++
	}
	if i.laps < 2 || r.o.view.count > 0 {
		return nil
	}
	return r.summary(0, length, r.losses, i.whole, fmt.Sprintf("in all, %s: ", table.Duration(length.Seconds())))
}
