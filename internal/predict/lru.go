package predict

// distances are the LRU stack distances of a trace's reads, exact within the
// watched pages: how many different ones were used since the page was used last.
// A cache that evicts whatever was used longest ago holds the page if it holds
// more pages than that (Mattson et al., IBM Systems Journal 9, 1970). -1 is a page
// that was not used before. Pages that are dropped are as new afterwards.
func (t *Trace) distances(f func(e *Event, distance int)) {
	last := make([]int32, t.Pages) // the time of the last use, from 1; 0 never
	tree := make([]int32, len(t.Events)+1)
	add := func(at, n int32) {
		for i := int(at); i < len(tree); i += i & -i {
			tree[i] += n
		}
	}
	sum := func(to int32) (n int32) {
		for i := to; i > 0; i &= i - 1 {
			n += tree[i]
		}
		return n
	}
	now, used := int32(0), int32(0)
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Kind {
		case Evicted, Added:
			continue
		case Dropped:
			if at := last[e.Page]; at > 0 {
				add(at, -1)
				used--
				last[e.Page] = 0
			}
			continue
		}
		now++
		distance := -1
		if at := last[e.Page]; at > 0 {
			distance = int(used - sum(at))
			add(at, -1)
			used--
		}
		last[e.Page] = now
		add(now, 1)
		used++
		if e.Kind == Read || e.Kind == Faulted {
			f(e, distance)
		}
	}
}

// Raw is what the simulation says of caches of so many bytes, not calibrated with what
// was measured: hit ratios of the kernel's two lists, and of exact LRU.
func (t *Trace) Raw(sizes []int64) (lists, lru []float64) {
	p := t.prepare(0, Setting{})
	stack := p.histogram()
	var rooms []int
	for _, size := range sizes {
		rooms = append(rooms, watched(size, t.Scale))
	}
	for i, x := range p.all(rooms, map[int]*tally{}) {
		missed, _ := x.missing()
		lists, lru = append(lists, 1-missed), append(lru, stack.hit(watched(sizes[i], t.Scale)))
	}
	return lists, lru
}
