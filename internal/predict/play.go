package predict

import "math"

// blocks is how many parts the time is put into, to see how much the prediction
// depends on when it was looked.
const blocks = 12

// tally is what a cache of one size did, by time and group of pages.
type tally struct {
	asked, cold [blocks][groups]uint32 // reads in question, and those of them that met no page, or one that came from disk for them
	unknown     [blocks]uint32         // of cold: nobody knows whether a larger cache would have had the page from before
	disk        [blocks]uint32         // pages that came from disk, whoever asked
	usedBy      [blocks]uint32         // of these, the ones that anybody asked for; of the real cache only
	settled     int                    // the block from which on the cache is as though it had always been of that size
	full        bool                   // then
	exact       *[blocks]float64       // all that was asked for, in watched pages; nil where that is not known
}

// played is a trace with what is worked out once for all sizes.
type played struct {
	*Trace
	host    bool
	often   int      // pages that come in from one telling to the next, 0 for the host
	lags    bool     // reclaim knows the lists only as they were told
	began   []uint32 // watched pages that were in the cache at the beginning, likeliest to be used first
	fresh   []bool   // by page: it came into the cache while it was watched
	ghost   int      // pages that were in the cache at the beginning, and nothing happened to
	act     float64  // share of the cache that was on the active list
	block   []uint8  // of each event
	exact   *[blocks]float64
	*around // what is read ahead is simulated; nil: it is what came
}

// telling is the time after which the kernel tells reclaim anew how long the lists are,
// in ms (FLUSH_TIME). It is counted in pages that come in: a disk gives about as many in
// a time to a cache of another size.
const telling = 2000

// prepare works out what was in the cache, of so many watched pages, when the
// trace began: pages of which the first that is seen is a use or an eviction.
func (t *Trace) prepare(room int, s Setting) *played {
	p := &played{Trace: t, host: s.Host, fresh: make([]bool, t.Pages), act: s.Active, block: make([]uint8, len(t.Events))}
	met := make([]bool, t.Pages)
	var gone []uint32
	added := 0
	length := max(1, uint32(t.Length.Milliseconds()))
	for i := range t.Events {
		e := &t.Events[i]
		p.block[i] = uint8(min(uint64(e.At)*blocks/uint64(length), blocks-1))
		if e.Kind == Added {
			added++
		}
		if met[e.Page] {
			continue
		}
		met[e.Page] = true
		switch e.Kind {
		case Added:
			p.fresh[e.Page] = true
		case Evicted, Dropped:
			gone = append(gone, e.Page)
		default:
			p.began = append(p.began, e.Page)
		}
	}
	if !s.Host {
		p.often = max(1, int(float64(added)*telling/float64(length)))
	}
	for i := len(gone) - 1; i >= 0; i-- { // who was evicted last was used last
		p.began = append(p.began, gone[i])
	}
	p.ghost = max(0, room-len(p.began))
	if len(t.Asked) > 1 {
		p.exact = new([blocks]float64)
		for b := range blocks {
			from, to := float64(b)*float64(length)/blocks, float64(b+1)*float64(length)/blocks
			p.exact[b] = (t.askedBy(to) - t.askedBy(from)) / float64(t.Scale)
		}
	}
	return p
}

// pages is how many a cache may have at most.
func (p *played) pages() int {
	if p.around == nil {
		return p.Pages + p.ghost
	}
	return p.Pages + p.ghost + p.unseen
}

// cache is one of a size, with what was in the real one at the beginning.
func (p *played) cache(room int) *twoList {
	c := newTwoList(p.pages(), room, p.Scale, p.host)
	held := min(room, len(p.began)+p.ghost)
	hot := int(p.act * float64(held))
	for i := held - 1; i >= 0; i-- {
		page := uint32(p.Pages + i - len(p.began))
		if i < len(p.began) {
			page = p.began[i]
		}
		c.at[page].state = resident
		if i < hot {
			c.at[page].state |= active
		}
		c.push(c.listOf(page), int32(page))
	}
	if p.lags {
		c.lags, c.told = p.often, c.size
	}
	return c
}

// follow finds out which of two rules the kernel follows in a cgroup: its reclaim knows
// how long the lists are, or (Linux 6.12 and later, mem_cgroup_flush_stats_ratelimited)
// only how long they were up to two seconds ago. The one is right whose hits in a cache of
// the real one's size are closer to those that were seen; its tally is given back.
func (p *played) follow(room int, hit float64) *tally {
	if p.often == 0 {
		return p.play(room)
	}
	late := *p
	late.lags = true
	told := make(chan *tally, 1)
	go func() { told <- late.play(room) }()
	knows := p.play(room)
	lags := <-told
	off := func(t *tally) float64 {
		missed, _ := t.missing()
		return math.Abs(1 - missed - hit)
	}
	if off(lags) < off(knows) {
		p.lags = true
		return lags
	}
	return knows
}

// play lets a cache of so many watched pages see the trace.
func (p *played) play(room int) *tally {
	t, _ := p.run(room)
	return t
}

// run is the same, and the cache as it is then.
func (p *played) run(room int) (*tally, *twoList) {
	c := p.cache(room)
	t := &tally{settled: blocks / 2, exact: p.exact}
	met := make([]bool, p.Pages)
	in, ready := 0, false // pages that came in
	var b uint8
	var ahead *reader
	if p.around != nil {
		ahead = &reader{around: p.around, cache: c, come: func(page uint32) {
			c.insert(page, false)
			c.at[page].state |= fresh
			t.disk[b]++
			in++
		}}
	}
	for i := range p.Events {
		e := &p.Events[i]
		b = p.block[i]
		page := e.Page
		has := c.has(page)
		switch e.Kind {
		case Evicted:
			continue
		case Dropped:
			c.drop(page)
			continue
		case Added:
			if has || ahead != nil { // then who asks for it misses it
				continue
			}
			c.insert(page, false)
			c.at[page].state |= fresh
			t.disk[b]++
		case Written:
			if !has {
				c.insert(page, true)
			} else if c.at[page].state&fresh != 0 { // it was made room for, not read
				c.at[page].state &^= fresh
				if t.disk[b] > 0 {
					t.disk[b]--
				}
			}
		case Read, Faulted:
			cold := !has || c.at[page].state&fresh != 0
			if !has {
				c.insert(page, false)
				t.disk[b]++
			}
			switch {
			case ahead == nil || e.Kind == Faulted:
			case !has:
				ahead.miss(page)
			case c.at[page].state&marked != 0:
				ahead.use(page)
			}
			c.at[page].state &^= fresh
			c.mark(page)
			if e.Kind == Read && e.Asked {
				g := groupOf(page)
				t.asked[b][g]++
				if cold {
					t.cold[b][g]++
					if !met[page] && p.fresh[page] && !(t.full && (ahead == nil || ready)) {
						t.unknown[b]++
					}
				}
			}
			met[page] = true
		}
		if !has {
			if in++; !t.full && c.full() {
				t.full = true
			}
		}
		if !ready && t.full && in >= room {
			ready = true
			t.settled = min(t.settled, int(b)+1)
		}
	}
	return t, c
}

// observed is the tally of the real cache.
func (p *played) observed() *tally {
	t := &tally{settled: blocks / 2, full: true, exact: p.exact}
	fresh := make([]bool, p.Pages)
	for i := range p.Events {
		e := &p.Events[i]
		b := p.block[i]
		switch e.Kind {
		case Added:
			fresh[e.Page] = true
			t.disk[b]++
		case Written:
			if fresh[e.Page] && t.disk[b] > 0 {
				t.disk[b]--
			}
			fresh[e.Page] = false
		case Read, Faulted:
			if fresh[e.Page] {
				t.usedBy[b]++
			}
			if e.Kind == Read && e.Asked {
				g := groupOf(e.Page)
				t.asked[b][g]++
				if fresh[e.Page] {
					t.cold[b][g]++
				}
			}
			fresh[e.Page] = false
		}
	}
	return t
}

// used is how many pages came from disk and were asked for while the tally counts.
func (t *tally) used() float64 {
	n := 0.0
	for b := t.settled; b < blocks; b++ {
		n += float64(t.usedBy[b])
	}
	return n
}

// sums adds up the blocks from one on.
func (t *tally) sums(from int) (asked, cold, unknown, disk float64) {
	for b := from; b < blocks; b++ {
		for g := range groups {
			asked += float64(t.asked[b][g])
			cold += float64(t.cold[b][g])
		}
		unknown += float64(t.unknown[b])
		disk += float64(t.disk[b])
	}
	return asked, cold, unknown, disk
}
