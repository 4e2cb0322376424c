package source

import (
	"cmp"
	"context"
	"time"

	"iocause/internal/sample"
	"iocause/internal/session"
)

// ObserveInSteps is Observe that ends a window at every step, shows each to see,
// and hands over all of them as one: what kernel programs count has a course then,
// for one more reading of their tables a step.
func (c *Collector) ObserveInSteps(ctx context.Context, o Observation, step time.Duration, see func(*sample.Window)) *sample.Window {
	loop := session.Loop{Every: step, Until: o.Until, Tick: min(step, cmp.Or(max(o.Tick, 0), time.Second)), During: c.Tick}
	if o.Length > 0 { // as many steps as there is room for, all of them as long
		loop.Count = max(int((o.Length+step/2)/step), 1)
		loop.Every = o.Length / time.Duration(loop.Count)
	}
	var all sample.Join
	var so time.Duration
	if o.Progress != nil {
		loop.Show = func(elapsed time.Duration) {
			p := c.meter.progress()
			p.Elapsed, p.Length = so+elapsed, o.Length
			o.Progress(p)
		}
	}
	_ = loop.Run(ctx, func(i session.Interval) error { // it does not fail, nor does Tick
		w := c.Next(i.Last)
		so += i.Length
		see(w)
		all.Add(w)
		return nil
	})
	return all.Window()
}
