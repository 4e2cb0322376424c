package trace

import (
	"errors"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/tracefile"
)

// Observer takes I/Os one by one, live or from a file, hands them on and sums
// them up. Intervals are those of the I/Os' ends, so that both are alike.
type Observer struct {
	Every time.Duration // length of an interval; 0 for one sum at the end
	Count int           // of intervals; 0 to the end of the trace
	Most  uint64        // ends after so many I/Os; 0 for no limit

	IO      func(*sample.IO) error // is called for every one; may be nil
	Summary func(*Summary) error   // for every interval, and for all together; nil for no sums
	Notes   []string               // on the trace, for every Summary

	file      *tracefile.Writer // that keeps the I/Os; nil without
	taken     uint64
	last      time.Duration // when the last I/O ended
	losses    tracefile.Losses
	tally     *tally           // of this interval
	since     time.Duration    // when this interval began
	lost      tracefile.Losses // before this interval
	intervals int              // that are over
	whole     *tally           // of all of them
	over      bool             // as many intervals as were asked for
}

// errEnough ends a trace: it has as many I/Os or intervals as were asked for.
var errEnough = errors.New("as many as were asked for")

// Taken is how many I/Os there were so far.
func (o *Observer) Taken() uint64 { return o.taken }

// take handles one I/O.
func (o *Observer) take(x *sample.IO) error {
	if err := o.until(x.End()); err != nil {
		return err
	}
	o.taken++
	o.last = max(o.last, x.End())
	o.sum(x)
	if o.file != nil {
		if err := o.file.Add(x); err != nil {
			return err
		}
	}
	if o.IO != nil {
		if err := o.IO(x); err != nil {
			return err
		}
	}
	if o.taken == o.Most {
		return errEnough
	}
	return nil
}

// sum counts one I/O.
func (o *Observer) sum(x *sample.IO) {
	if o.Summary == nil {
		return
	}
	if o.tally == nil {
		o.tally = newTally()
	}
	if o.Every > 0 {
		if o.whole == nil {
			o.whole = newTally()
		}
		o.whole.add(x)
		inside := *x
		inside.Start -= o.since // bins count from the interval's start
		x = &inside
	}
	o.tally.add(x)
}

// until ends the intervals that were over at this time of the trace. It fails
// with errEnough after the last that was asked for.
func (o *Observer) until(at time.Duration) error {
	for o.Every > 0 && at >= o.since+o.Every {
		if err := o.end(o.Every); err != nil {
			return err
		}
		if o.intervals == o.Count {
			o.over = true
			return errEnough
		}
	}
	return nil
}

// end sums up the interval, of that length.
func (o *Observer) end(length time.Duration) error {
	s := &Summary{Since: o.since, Length: length, Losses: o.losses.Since(o.lost), tally: o.tally}
	o.lost, o.since, o.tally = o.losses, o.since+length, nil
	o.intervals++
	return o.show(s)
}

func (o *Observer) show(s *Summary) error {
	if o.Summary == nil {
		return nil
	}
	if s.tally == nil {
		s.tally = newTally()
	}
	s.Notes = o.Notes
	return o.Summary(s)
}

// conclude sums up what is left at the end of the trace: the interval under way
// and, where nobody said how many there would be, all of them together.
func (o *Observer) conclude(length time.Duration) error {
	if o.Every == 0 {
		return o.end(length)
	}
	if !o.over && length > o.since {
		if err := o.end(length - o.since); err != nil {
			return err
		}
	}
	if o.intervals < 2 || o.Count > 0 {
		return nil
	}
	return o.show(&Summary{Length: length, Whole: true, Losses: o.losses, tally: o.whole})
}
