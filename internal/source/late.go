package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Late are sources that were opened while others were being read. They count
// from when they join these. A Late that never joins is to be closed.
type Late struct{ sources []*opened }

// OpenLate opens more entries, as Open does. It may run beside a collector:
// loading kernel programs takes longer than an interval.
func OpenLate(ctx context.Context, h *host.Host, entries []Entry) *Late {
	return &Late{openAll(ctx, h, entries)}
}

// Statuses says how far they got, in the order of the entries.
func (l *Late) Statuses() []Status { return statusesOf(l.sources) }

// Close closes them; the collector closes those that have joined it.
func (l *Late) Close() error { return closeAll(l.sources) }

// Join takes more sources in. It is called right after Next, so that what they
// measure begins where the window does.
func (c *Collector) Join(l *Late) {
	for _, o := range l.sources {
		c.sources = append(c.sources, o)
		if o.OpenErr != nil {
			c.rec.PutGap(o.unopened())
		}
		if o.source != nil {
			c.collectOf(o, sample.First)
		}
	}
	l.sources = nil
}

// Leave closes the sources of these names. It is called right after Next: the
// window that begins there has none of their metrics. Those that stay must
// count none of the same metrics: they would begin anew, too.
func (c *Collector) Leave(names ...string) error {
	var gone []*opened
	c.sources = slices.DeleteFunc(c.sources, func(o *opened) bool {
		leaves := slices.Contains(names, o.Name)
		if leaves {
			gone = append(gone, o)
		}
		return leaves
	})
	for _, o := range gone {
		for _, m := range o.Metrics {
			c.rec.Forget(m)
		}
	}
	return closeAll(gone)
}

// unopened is the gap of a source that did not open.
func (o *opened) unopened() sample.Gap {
	return sample.Gap{Source: o.Name, Why: fmt.Sprintf("%s: %v", o.Name, o.OpenErr), Metrics: o.Metrics}
}

func statusesOf(sources []*opened) (all []Status) {
	for _, o := range sources {
		status := o.Status
		if s, ok := o.source.(inWays); ok {
			status.Ways = s.Ways()
		}
		all = append(all, status)
	}
	return all
}

// closeAll closes what is open of them.
func closeAll(sources []*opened) error {
	var errs []error
	for _, o := range sources {
		if o.source == nil {
			continue
		}
		if err := o.source.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", o.Name, err))
		}
		o.source = nil
	}
	return errors.Join(errs...)
}
