package burst

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/source/probe/burst"
)

// Poll is the time from one Poll to the next: often enough for the kernel's room.
const Poll = 50 * time.Millisecond

// milliseconds are where bins come from: the kernel, or a trace.
type milliseconds interface {
	// Each calls f for the bins that were over since the last call, by disk and in
	// order, and returns the first millisecond that is still to come.
	Each(f func(*burst.Bin)) (next int64, err error)
	Losses() (burst.Losses, error)
	Close() error
}

// Observer looks for bursts. It is used by one goroutine.
type Observer struct {
	Found func(*Burst) error // is called for every burst

	bins    milliseconds
	filter  Filter
	boot    time.Time // of Bin.MS 0
	disks   map[string]*disk
	whole   map[string]*sums // of the intervals so far
	before  burst.Losses     // of the intervals before
	beyond  uint64           // of this interval, as Filter.keep has it
	beyonds uint64           // of all
	notes   []string         // for the next interval
}

func newObserver(bins milliseconds, boot time.Time, f Filter) *Observer {
	return &Observer{Found: func(*Burst) error { return nil }, bins: bins, filter: f, boot: boot, disks: map[string]*disk{}, whole: map[string]*sums{}}
}

// Open begins to observe this machine.
func Open(h *host.Host, f Filter) (*Observer, error) {
	probe, err := burst.Open(h)
	if err != nil {
		return nil, err
	}
	return newObserver(probe, time.Now().Add(-time.Duration(probe.Next())*time.Millisecond), f), nil
}

// Close ends the observation.
func (o *Observer) Close() error { return o.bins.Close() }

// Poll takes what has arrived.
func (o *Observer) Poll() error {
	var failed error
	next, err := o.bins.Each(func(b *burst.Bin) {
		keep, beyond := o.filter.keep(b)
		o.beyond += beyond
		if keep {
			failed = cmp.Or(failed, o.take(b))
		}
	})
	failed = cmp.Or(failed, err)
	for name, d := range o.disks {
		d.feed(next, func(b detect.Burst) { failed = cmp.Or(failed, o.found(name, d, b)) })
		d.forget()
	}
	return failed
}

// take counts a bin.
func (o *Observer) take(b *burst.Bin) (err error) {
	d := o.disks[b.Disk]
	if d == nil {
		d = newDisk(b.MS)
		o.disks[b.Disk] = d
	}
	d.add(b, func(found detect.Burst) { err = cmp.Or(err, o.found(b.Disk, d, found)) })
	return err
}

// found counts a burst and hands it over.
func (o *Observer) found(name string, d *disk, b detect.Burst) error {
	e := d.explain(b)
	d.now.burst(&e)
	e.Disk, e.At = name, o.boot.Add(time.Duration(b.From)*time.Millisecond)
	return o.Found(&e)
}

// Next closes the interval. At the last one what is left is judged, too.
func (o *Observer) Next(start time.Time, length time.Duration, last bool) (*Interval, error) {
	if err := o.Poll(); err != nil {
		return nil, err
	}
	var failed error
	if last {
		for name, d := range o.disks {
			d.finder.End(func(b detect.Burst) { failed = cmp.Or(failed, o.found(name, d, b)) })
		}
	}
	losses, err := o.bins.Losses()
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	in := &Interval{Start: start, Length: length, disks: map[string]*sums{}, notes: append(o.notes, lost(losses, o.before, o.beyond)...)}
	for name, d := range o.disks {
		in.disks[name] = d.now
		if o.whole[name] == nil {
			o.whole[name] = newSums()
		}
		o.whole[name].join(d.now)
		d.now = newSums()
	}
	o.beyonds += o.beyond
	o.before, o.beyond, o.notes = losses, 0, nil
	return in, nil
}

// Sum is all intervals together.
func (o *Observer) Sum(start time.Time, length time.Duration) *Interval {
	return &Interval{Start: start, Length: length, disks: o.whole, notes: lost(o.before, burst.Losses{}, o.beyonds)}
}

// lost says what is not in the figures.
func lost(now, before burst.Losses, beyond uint64) (notes []string) {
	say := func(n uint64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	say(now.UnknownDisk-before.UnknownDisk, "%d I/Os went to disks added after the start: they are missing")
	say(beyond, "%d I/Os are left out: more than eight processes did I/O in their millisecond")
	say(now.LateReader-before.LateReader, "%d I/Os are missing: iocause got no CPU for a second")
	return notes
}
