package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
)

// Status is how far a source got.
type Status struct {
	Name     string
	Metrics  []sample.Metric
	Needs    string
	OpenErr  error         // nil when it opened
	Err      error         // the first failure of Collect, nil when there was none
	Calls    int           // of Collect
	Failures int           // of these
	Spent    time.Duration // in Collect, all calls
	Stuck    bool          // a call of Collect was given up, and the source with it
	Gaps     []sample.Gap  // what the source itself said that it lacks
	Ways     []sample.Way  // how it asks the kernel, where there are several ways to
}

// inWays is a source that can ask the kernel in several ways.
type inWays interface{ Ways() []sample.Way }

// Works tells whether the source opened and never failed.
func (s *Status) Works() bool { return s.OpenErr == nil && s.Failures == 0 }

// opened is a source with its account.
type opened struct {
	Status
	source   sample.Source // nil when there is nothing to collect or to close any more
	carry    time.Duration // spent at First, where counters emit nothing
	standing int           // of Gaps: those of every window
	gaveUp   error         // why the source is Stuck
	lately   lately
}

// lately is how a source fared in this window.
type lately struct {
	calls, failures int
	err             error // the first
}

// patience is how long a call of a source may take by default. Reading
// thousands of processes on a machine that swaps may take seconds; a kernel
// file that never answers must not hold up the verdict.
const patience = 20 * time.Second

// Collector runs sources together over one window. Its methods are called
// from one goroutine: Open, Begin, Observe, Close.
type Collector struct {
	// Patience is how long one call of a source may take before the source is
	// given up. Once that has happened, the others have a quarter of it.
	Patience time.Duration
	// Hanging counts the calls that were given up and have not come back; nil
	// where nobody wants to know.
	Hanging *atomic.Int64

	host    *host.Host
	sources []*opened
	rec     *sample.Recorder
	start   time.Time
	meter   meter
	pages   *pages

	resident  resident
	impatient bool // a source was given up
}

// Open opens the entries, all at the same time: loading kernel programs takes
// most of the start-up, and probes share nothing. No more of these are loaded at a
// time than processors can, for each takes memory meanwhile. An entry that fails, or has
// not opened when ctx ends, becomes a gap of the window.
func Open(ctx context.Context, h *host.Host, entries []Entry) *Collector {
	return &Collector{host: h, Patience: patience, pages: pagesOf(h), sources: openAll(ctx, h, entries)}
}

func openAll(ctx context.Context, h *host.Host, entries []Entry) (all []*opened) {
	began := time.Now()
	defer h.RelaxTimers()()
	results := make([]chan result, len(entries))
	loads := make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	for i, e := range entries {
		done := make(chan result, 1)
		results[i] = done
		go func() {
			if e.Plan != nil {
				loads <- struct{}{}
				defer func() { <-loads }()
			}
			s, err := e.Open(h)
			done <- result{s, err}
		}()
	}
	for i, e := range entries {
		o := &opened{Status: Status{Name: e.Name, Metrics: e.Metrics, Needs: e.Needs}}
		select {
		case r := <-results[i]:
			o.source, o.OpenErr = r.source, r.err
		case <-ctx.Done():
			o.OpenErr = fmt.Errorf("opening took longer than %.1f s: %w", time.Since(began).Seconds(), ctx.Err())
			go closeLate(results[i])
		}
		all = append(all, o)
	}
	if time.Since(began) > loading {
		debug.FreeOSMemory()
		_ = host.ReleaseProgram() // what it does not give back is resident: nothing is wrong with that
	}
	return all
}

// loading is from when on opening has loaded kernel programs, which leaves more
// memory behind than observing uses.
const loading = 10 * time.Millisecond

// StandIn opens those of the entries that measure something which no open source
// offers. It is called before Begin, if at all.
func (c *Collector) StandIn(entries []Entry) {
	for _, e := range entries {
		offered := false
		for _, o := range c.sources {
			offered = offered || o.source != nil && slices.ContainsFunc(e.Metrics, func(m sample.Metric) bool { return slices.Contains(o.Metrics, m) })
		}
		if offered || !c.host.IsLive {
			continue
		}
		o := &opened{Status: Status{Name: e.Name, Metrics: e.Metrics, Needs: e.Needs}}
		o.source, o.OpenErr = e.Open(c.host)
		c.sources = append(c.sources, o)
	}
}

// result is what opening an entry gave.
type result struct {
	source sample.Source
	err    error
}

// closeLate closes a source that opens after it was given up.
func closeLate(done <-chan result) {
	if r := <-done; r.source != nil {
		r.source.Close()
	}
}

// WalkRarely has the walks for what is cached of files that cannot be opened take
// a hundredth of a processor at most, rather than a twentieth: for who watches for
// hours.
func (c *Collector) WalkRarely() { c.resident.share = 100 }

// Begin starts the window: every source reads its start values. What happens
// from here on is in the window.
func (c *Collector) Begin() {
	c.start = c.host.Now()
	c.rec = sample.NewRecorder(c.start)
	c.meter = meter{Recorder: c.rec}
	c.lacks()
	c.collect(sample.First)
}

// lacks begins each source's account of a window with what is missing in all
// of them: what did not open, and what a source said at its first call.
func (c *Collector) lacks() {
	for _, o := range c.sources {
		if o.OpenErr != nil {
			c.rec.PutGap(o.unopened())
		}
		o.Gaps = slices.Clip(o.Gaps[:o.standing])
		for _, g := range o.Gaps {
			c.rec.PutGap(g)
		}
		o.lately = lately{}
	}
}

// Observation says how long to look and whom to tell meanwhile.
type Observation struct {
	Length   time.Duration   // 0: until Until or the context ends it
	Until    <-chan struct{} // ends the window when closed; may be nil
	Tick     time.Duration   // between collections; 0 is a second
	Progress func(Progress)  // every 200 ms; may be nil
}

// Progress is what can be said while observing.
type Progress struct {
	Elapsed, Length time.Duration // Length is 0 when it is not known
	Device          string        // the busiest device of the last tick, "" when all rest
	Read, Write     float64       // its bytes per second
}

// Observe ticks until the time is over, Until is closed or ctx ends, whichever
// is first, closes the window and hands it over.
func (c *Collector) Observe(ctx context.Context, o Observation) *sample.Window {
	loop := session.Loop{Every: o.Length, Count: 1, Until: o.Until, Tick: cmp.Or(max(o.Tick, 0), time.Second), During: c.Tick}
	if o.Progress != nil {
		loop.Show = func(elapsed time.Duration) {
			p := c.meter.progress()
			p.Elapsed, p.Length = elapsed, o.Length
			o.Progress(p)
		}
	}
	var w *sample.Window
	_ = loop.Run(ctx, func(session.Interval) error { w = c.Next(true); return nil }) // neither this nor Tick fails
	return w
}

// Intervals observes one window after the other, each as long as every, and hands
// each to f as it ends: count of them, or until ctx ends if count is 0, which
// closes the window that it falls into. Within long windows it ticks every
// second. f's error ends it, too.
func (c *Collector) Intervals(ctx context.Context, every time.Duration, count int, f func(*sample.Window) error) error {
	loop := session.Loop{Every: every, Count: count, Tick: min(every, time.Second), During: c.Tick}
	return loop.Run(ctx, func(i session.Interval) error { return f(c.Next(i.Last)) })
}

// Tick collects within a window. It never fails: what a source lacks is in the
// window's gaps.
func (c *Collector) Tick() error {
	c.collect(sample.Tick)
	return nil
}

// Next closes the window. Unless it is the last, it begins the next one at the
// same instant: nothing falls between two windows.
func (c *Collector) Next(last bool) *sample.Window {
	if last {
		c.collect(sample.Last)
		return c.describe(c.rec.Window(c.meter.now))
	}
	c.collect(sample.IntervalEnd)
	w := c.describe(c.rec.Window(c.meter.now)) // while it is still the recorder's
	c.rec.NextWindow(c.meter.now)
	c.lacks()
	return w
}

// Instant is when the last pass was, by the clock of that moment. The end of a
// window as its start and length have it is another one when the clock was set
// meanwhile, or the machine slept.
func (c *Collector) Instant() time.Time { return c.meter.now }

// collect runs every open source once. All points of one pass bear the same
// instant, so that series can be laid beside each other; sources run in the
// same order every time, so each one's own interval is as long.
func (c *Collector) collect(phase sample.Phase) {
	now := c.host.Now()
	c.rec.At(now)
	c.meter.pass(now)
	for _, o := range c.sources {
		if o.source != nil {
			c.collectOf(o, phase)
		}
	}
}

// collectOf runs one source, and keeps account of it.
func (c *Collector) collectOf(o *opened, phase sample.Phase) {
	began := time.Now()
	err := c.call(o, phase)
	spent := time.Since(began)
	o.Spent += spent
	o.Calls++
	o.lately.calls++
	if err != nil {
		o.Failures++
		o.Err = cmp.Or(o.Err, err)
		o.lately.failures++
		o.lately.err = cmp.Or(o.lately.err, err)
	}
	if o.carry += spent; phase != sample.First {
		c.rec.Put(sample.CostCollect, sample.Entity{Class: o.Name}, o.carry.Seconds(), "iocause")
		o.carry = 0
	}
}

// call runs one Collect, as long as patience lasts. A source that hangs is
// left behind: what it still emits is dropped, and it is closed if it ever
// returns.
func (c *Collector) call(o *opened, phase sample.Phase) error {
	source, into := o.source, &tap{meter: &c.meter, of: o, first: phase == sample.First, pages: c.pages}
	done := make(chan error, 1)
	go func() { done <- source.Collect(phase, into) }()
	limit := time.NewTimer(c.Patience)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
	}
	into.shut()
	o.source, o.Stuck = nil, true
	err := fmt.Errorf("reading took longer than %.1f s", c.Patience.Seconds())
	o.gaveUp = err
	if !c.impatient {
		c.impatient = true
		c.Patience /= 4
	}
	hanging := c.Hanging
	if hanging != nil {
		hanging.Add(1)
	}
	go func() {
		<-done
		if hanging != nil {
			hanging.Add(-1)
		}
		source.Close() // the collector is closing: its error changes nothing
	}()
	return err
}

// describe adds to a window that is over, as long as its first pass to its
// last, a gap for every source that failed in it: its metrics that never arrived
// are missing because of it. The window is the recorder's still.
func (c *Collector) describe(w *sample.Window) *sample.Window {
	for _, o := range c.sources {
		if o.Stuck {
			// The first half of a counter would pass for a small one.
			for _, m := range o.Metrics {
				c.rec.Forget(m)
			}
			w.Gaps = append(w.Gaps, sample.Gap{Source: o.Name, Metrics: o.Metrics,
				Why: fmt.Sprintf("%s: %v; none of its figures are used", o.Name, o.gaveUp)})
			continue
		}
		if o.lately.failures == 0 {
			continue
		}
		g := sample.Gap{Source: o.Name, Why: fmt.Sprintf("%s: failed %d of %d times, first: %v", o.Name, o.lately.failures, o.lately.calls, o.lately.err)}
		for _, m := range o.Metrics {
			if w.Source(m) == "" {
				g.Metrics = append(g.Metrics, m)
			}
		}
		w.Gaps = append(w.Gaps, g)
	}
	if c.host.IsLive {
		c.resident.see(c.host, w, c.rec)
	}
	return w
}

// Statuses says how every source fared, in the order of the list.
func (c *Collector) Statuses() []Status { return statusesOf(c.sources) }

// Close closes every source.
func (c *Collector) Close() error {
	err := closeAll(c.sources)
	if e := c.resident.close(); e != nil {
		err = errors.Join(err, fmt.Errorf("closing the walk of the page cache: %w", e))
	}
	return err
}
