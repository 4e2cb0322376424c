package predict

// Without is what becomes of those in question when some pages leave the cache to the
// others, which then has so many bytes: less is the trace without these pages, t the
// whole one, of which c is the curve. ok is false where too little is left to tell.
func (c *Curve) Without(t, less *Trace, s Setting, cache int64) (x Point, ok bool) {
	if less.enough() != nil || watched(cache, less.Scale) < 8 {
		return x, false
	}
	all := t.prepare(watched(s.Cache, t.Scale), s)
	rest := less.prepare(watched(cache, less.Scale), s)
	all.like(c)
	rest.like(c)
	return c.point(rest, rest.play(watched(cache, less.Scale)), all.play(watched(s.Cache, t.Scale)), all.observed(), s.Memory, cache, rest.histogram()), true
}

// like has the cache follow the rules that were found for the curve.
func (p *played) like(c *Curve) {
	p.lags = c.lags
	if c.around != nil && p.Places != nil {
		p.around = p.aroundOf(p.Pages + p.ghost)
		p.times = c.around.times
	}
}

// Used is the trace as it would be if nothing were read ahead: pages come from disk when
// they are asked for, and those that nobody asked for do not come.
func (t *Trace) Used() *Trace {
	less := *t
	less.Events, less.Places, less.Sizes = nil, nil, nil
	came := make([]*Event, t.Pages) // and waits for somebody to ask for it
	for i := range t.Events {
		e := &t.Events[i]
		before := came[e.Page]
		came[e.Page] = nil
		switch {
		case e.Kind == Added:
			came[e.Page] = e
			continue
		case before == nil:
		case e.Kind == Evicted || e.Kind == Dropped:
			continue
		default:
			late := *before
			late.At = e.At
			less.Events = append(less.Events, late)
		}
		less.Events = append(less.Events, *e)
	}
	return &less
}

// Held tells of each page whether a memory of so many bytes holds it at the end.
func (t *Trace) Held(s Setting, memory int64) []bool {
	p := t.prepare(watched(s.Cache, t.Scale), s)
	_, cache := p.run(max(1, watched(memory-(s.Memory-s.Room), t.Scale)))
	held := make([]bool, t.Pages)
	for page := range held {
		held[page] = cache.has(uint32(page))
	}
	return held
}
