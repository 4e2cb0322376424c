package predict

import "math"

// blocks is how many parts the time is put into, to see how much the prediction
// depends on when it was looked.
const blocks = 12

// tally is what a cache of one size did, by time and group of pages.
type tally struct {
	asked   *[blocks][groups]uint32 // reads in question: of every size the same
	cold    [blocks][groups]uint32  // those of them that met no page, or one that came from disk for them
	unknown [blocks]uint32          // of cold: nobody knows whether a larger cache would have had the page from before
	disk    [blocks]uint32          // pages that came from disk, whoever asked
	usedBy  [blocks]uint32          // of these, the ones that anybody asked for; of the real cache only
	settled int                     // the block from which on the cache is as though it had always been of that size
	full    bool                    // then
	exact   *[blocks]float64        // all that was asked for, in watched pages; nil where that is not known
}

// played is a trace with what is worked out once for all sizes.
type played struct {
	*Trace
	host    bool
	lists   Lists                  // how the kernel keeps its cache
	often   int                    // pages that come in from one telling to the next, 0 for the host
	lags    bool                   // reclaim knows the lists only as they were told
	began   []uint32               // watched pages that were in the cache at the beginning, likeliest to be used first
	over    []bool                 // by file: it is read over and over
	whole   int                    // watched pages of all files that are read; 0 where that is not known
	fresh   []bool                 // by page: it came into the cache while it was watched
	ghost   int                    // pages that were in the cache at the beginning, and nothing happened to
	act     float64                // share of the cache that was on the active list
	steps   []step                 // what happened, without evictions: caches of other sizes decide these themselves
	asked   [blocks][groups]uint32 // tally.asked
	exact   *[blocks]float64
	*around // what is read ahead is simulated; nil: it is what came
}

// step is an event in one word, since each size reads all of them: the page (of up to 2^25:
// a million are watched at most), the block, and what happened.
type step uint32

func stepOf(page uint32, block int, what step) step {
	return step(page)<<stepPage | step(block)<<stepBlock | what
}

func (s step) page() uint32 { return uint32(s >> stepPage) }
func (s step) block() int   { return int(s >> stepBlock & (1<<(stepPage-stepBlock) - 1)) }
func (s step) what() step   { return s & (1<<stepBlock - 1) }

const stepBlock, stepPage = 3, 7 // bits

// What happens in a step; from read on a call asks for the page.
const (
	added step = iota
	dropped
	written
	faulted
	readOther   // not by those in question
	readAsked   // by them
	readUnknown // and was not asked for before, but came into the cache while it was watched
	readKept    // and a cache that holds all files has it from before: held.go
)

// telling is the time after which the kernel tells reclaim anew how long the lists are,
// in ms (FLUSH_TIME). It is counted in pages that come in: a disk gives about as many in
// a time to a cache of another size.
const telling = 2000

// prepare works out what was in the cache, of so many watched pages, when the
// trace began: pages of which the first that is seen is a use or an eviction.
func (t *Trace) prepare(room int, s Setting) *played {
	p := &played{Trace: t, over: t.readOver(), whole: t.whole(), host: s.Host, lists: s.Lists, fresh: make([]bool, t.Pages), act: s.Active, steps: make([]step, 0, len(t.Events))}
	met, used := make([]bool, t.Pages), make([]bool, t.Pages)
	var gone []uint32
	came, distinct, last := 0, 0.0, make([]int, t.Pages)
	length := max(1, uint32(t.Length.Milliseconds()))
	for i := range t.Events {
		e := &t.Events[i]
		if !met[e.Page] {
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
		block := int(min(uint64(e.At)*blocks/uint64(length), blocks-1))
		what := faulted
		switch e.Kind {
		case Evicted:
			continue
		case Dropped:
			what = dropped
		case Added:
			came++
			what = added
		case Written:
			what = written
		case Read:
			what = readOther
			if e.Asked {
				if block >= blocks/2 && last[e.Page] != block {
					last[e.Page] = block
					distinct++
				}
				p.asked[block][groupOf(e.Page)]++
				if what = readAsked; p.fresh[e.Page] && !used[e.Page] {
					what = readUnknown
					if t.fileIn(p.over, e.Page) {
						what = readKept
					}
				}
			}
			used[e.Page] = true
		case Faulted:
			used[e.Page] = true
		}
		p.steps = append(p.steps, stepOf(e.Page, block, what))
	}
	if !s.Host {
		p.often = max(1, int(float64(came)*telling/float64(length)))
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
		if !tellsAll(p.exact, distinct) {
			p.exact = nil
		}
	}
	return p
}

// tellsAll tells whether totals can be all that was asked for: they cannot where they are
// fewer than the pages that were, each counted once in each block of the later half, beyond
// what is due to the choice of the watched ones. Then some who asked were not counted.
func tellsAll(exact *[blocks]float64, distinct float64) bool {
	all := 0.0
	for b := blocks / 2; b < blocks; b++ {
		all += exact[b]
	}
	return all > 0 && all >= distinct-4*math.Sqrt(distinct)
}

// pages is how many a cache may have at most.
func (p *played) pages() int {
	if p.around == nil {
		return p.Pages + p.ghost
	}
	return p.Pages + p.ghost + p.unseen
}

// cache is one of a size, with what was in the real one at the beginning.
func (p *played) cache(room int) cache {
	had := min(room, len(p.began)+p.ghost)
	hot := int(p.act * float64(had))
	fill := func(put func(page uint32, hot bool)) {
		for i := had - 1; i >= 0; i-- {
			page := uint32(p.Pages + i - len(p.began))
			if i < len(p.began) {
				page = p.began[i]
			}
			put(page, i < hot)
		}
	}
	if p.lists != TwoLists {
		c := newGenerations(p.pages(), room, p.Scale, p.host, p.lists == MGLRUSince614)
		fill(c.had)
		for page, came := range p.fresh { // of what is read over and over the kernel knows that it comes back
			if came && p.fileIn(p.over, uint32(page)) {
				c.went(uint32(page))
			}
		}
		return c
	}
	c := newTwoList(p.pages(), room, p.Scale, p.host)
	fill(c.had)
	if p.lags {
		c.lags, c.told = p.often, c.lengths
	}
	return c
}

// follow finds out which of two rules the kernel follows in a cgroup: its reclaim knows
// how long the lists are, or (Linux 6.12 and later, mem_cgroup_flush_stats_ratelimited)
// only how long they were up to two seconds ago. The one is right whose hits in a cache of
// the real one's size are closer to those that were seen; its tally is given back.
func (p *played) follow(room int, hit float64) *tally {
	if p.often == 0 || p.lists != TwoLists {
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
func (p *played) run(room int) (*tally, cache) {
	c := p.cache(room)
	known := c.pages().state
	t := &tally{settled: blocks / 2, exact: p.exact, asked: &p.asked}
	in, ready := 0, false // pages that came in
	all := holds(room, p.whole)
	b := 0
	var ahead *reader
	if p.around != nil {
		ahead = &reader{around: p.around, cache: c, come: func(page uint32) {
			c.insert(page, false)
			known[page] |= fresh
			t.disk[b]++
			in++
		}}
	}
	for _, s := range p.steps {
		page, what := s.page(), s.what()
		state := known[page]
		if what >= faulted && state == resident|active|referenced { // most of what is used changes nothing
			continue
		}
		has := state&resident != 0
		b = s.block()
		switch what {
		case dropped:
			c.drop(page)
			continue
		case added:
			if has || ahead != nil { // then who asks for it misses it
				continue
			}
			c.insert(page, false)
			known[page] |= fresh
			t.disk[b]++
		case written:
			if !has {
				c.insert(page, true)
			} else if state&fresh != 0 { // it was made room for, not read
				known[page] &^= fresh
				if t.disk[b] > 0 {
					t.disk[b]--
				}
			}
		default:
			kept := all && what == readKept
			cold := !kept && (!has || state&fresh != 0)
			if !has {
				c.insert(page, false)
				t.disk[b]++
			}
			switch {
			case kept:
				if (!has || state&fresh != 0) && t.disk[b] > 0 { // it did not come from there
					t.disk[b]--
				}
			case ahead == nil || what == faulted:
			case !has:
				ahead.miss(page)
			case state&marked != 0:
				ahead.use(page)
			}
			known[page] &^= fresh
			c.mark(page)
			if cold && what >= readAsked {
				t.cold[b][groupOf(page)]++
				if what >= readUnknown && !(t.full && (ahead == nil || ready)) {
					t.unknown[b]++
				}
			}
		}
		if !has {
			if in++; !t.full && c.full() {
				t.full = true
			}
		}
		if !ready && t.full && in >= room {
			ready = true
			t.settled = min(t.settled, b+1)
		}
	}
	return t, c
}

// observed is the tally of the real cache.
func (p *played) observed() *tally {
	t := &tally{settled: blocks / 2, full: true, exact: p.exact, asked: &p.asked}
	fresh := make([]bool, p.Pages)
	for _, s := range p.steps {
		page, b, what := s.page(), s.block(), s.what()
		was := fresh[page]
		switch what {
		case dropped:
			continue
		case added:
			t.disk[b]++
		case written:
			if was && t.disk[b] > 0 {
				t.disk[b]--
			}
		default:
			if was {
				t.usedBy[b]++
				if what >= readAsked {
					t.cold[b][groupOf(page)]++
				}
			}
		}
		fresh[page] = what == added
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
