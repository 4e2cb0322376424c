package predict

import "math"

// twoList is one cache as Linux keeps it without MGLRU: an inactive list that
// pages come into and are evicted from, an active one for those that were asked
// for twice, and shadows of evicted pages that tell how far away they are when
// they come back (mm/swap.c, mm/workingset.c, mm/vmscan.c of 6.18). It holds
// watched pages, each of which stands for scale pages of the real one.
type twoList struct {
	held
	host bool // reclaim is the host's, not a cgroup's

	lists [2]queue // the inactive and the active list
	age   uint32   // evictions and activations so far: nonresident_age

	lengths   [2]int  // pages of the inactive and the active list
	lags      int     // pages that come in from one telling of the sizes to the next; 0: reclaim knows them
	told      [2]int  // what reclaim was told last
	untold    int     // pages that came in since
	recent    float64 // of the pages that came in of late, those that were activated at once
	owed      float64 // pages of the active list that are still to be moved
	perPage   float64 // of the active list that are moved for each that is evicted
	untilNext int     // evictions until perPage is reckoned again
}

// queue is a list, oldest first, without pointers: pages come at its end and leave at its
// beginning, and a page that leaves from between is passed over later. So what is on it is
// read and written in order.
type queue struct {
	pages []uint32
	first int // the pages before it have left
}

const (
	inactiveList, activeList = 0, 1
	reclaimBatch             = 32 // SWAP_CLUSTER_MAX
	defPriority              = 12 // DEF_PRIORITY
)

func newTwoList(pages, room, scale int, host bool) *twoList {
	c := &twoList{held: newHeld(pages, room, scale), host: host}
	for i := range c.lists {
		c.lists[i].pages = make([]uint32, 0, 2*min(room, pages)+reclaimBatch)
	}
	return c
}

// had puts a page in that was there before anything was seen.
func (c *twoList) had(p uint32, hot bool) {
	c.state[p] = resident
	if hot {
		c.state[p] |= active
	}
	c.push(c.listOf(p), p)
}

// counted are the sizes that reclaim decides by.
func (c *twoList) counted() [2]int {
	if c.lags > 0 {
		return c.told
	}
	return c.lengths
}

// push puts a page at the end of a list.
func (c *twoList) push(list int, p uint32) {
	q := &c.lists[list]
	if len(q.pages) == cap(q.pages) {
		c.tidy(list)
	}
	c.at[p] = uint32(len(q.pages))
	q.pages = append(q.pages, p)
	c.lengths[list]++
	c.size++
}

// tidy takes the pages that have left out of a list. Those that are on it are at most half.
func (c *twoList) tidy(list int) {
	q := &c.lists[list]
	kept := q.pages[:0]
	for i := q.first; i < len(q.pages); i++ {
		if p := q.pages[i]; c.on(list, p, i) {
			c.at[p] = uint32(len(kept))
			kept = append(kept, p)
		}
	}
	q.pages, q.first = kept, 0
}

// on tells whether a page is on a list, at that place.
func (c *twoList) on(list int, p uint32, place int) bool {
	want := resident
	if list == activeList {
		want |= active
	}
	return c.state[p]&(resident|active) == want && c.at[p] == uint32(place)
}

// oldest takes the page off a list that is on it for longest.
func (c *twoList) oldest(list int) uint32 {
	q := &c.lists[list]
	for {
		p := q.pages[q.first]
		q.first++
		if c.on(list, p, q.first-1) {
			c.lengths[list]--
			c.size--
			return p
		}
	}
}

func (c *twoList) listOf(p uint32) int {
	if c.state[p]&active != 0 {
		return activeList
	}
	return inactiveList
}

// insert puts a page in that is not there. Pages that are written are not
// activated (filemap_add_folio: __GFP_WRITE).
func (c *twoList) insert(p uint32, written bool) {
	s := c.state[p]
	again := 0.0
	now := resident
	if s&evicted != 0 && !written && int(c.age-c.at[p]) <= c.counted()[activeList] {
		now |= active
		c.age++
		again = 1
	}
	c.recent += (again - c.recent) / reclaimBatch
	for c.full() {
		c.evict()
	}
	c.state[p] = now
	c.push(c.listOf(p), p)
	if c.untold++; c.untold >= c.lags {
		c.told, c.untold = c.lengths, 0
	}
}

// mark is folio_mark_accessed.
func (c *twoList) mark(p uint32) {
	switch s := c.state[p]; {
	case s&referenced == 0:
		c.state[p] |= referenced
	case s&active == 0:
		c.lengths[inactiveList]--
		c.size--
		c.state[p] = s&^referenced | active
		c.push(activeList, p)
		c.age++
	}
}

// evict makes room for one page, and tells which it was.
func (c *twoList) evict() uint32 {
	if c.untilNext == 0 {
		c.perPage, c.untilNext = c.deactivations(), 16
	}
	c.untilNext--
	c.owed += c.perPage
	for c.lengths[activeList] > 0 && (c.owed >= 1 || c.lengths[inactiveList] == 0) {
		p := c.oldest(activeList)
		c.state[p] &^= active
		c.push(inactiveList, p)
		c.owed = max(0, c.owed-1)
	}
	p := c.oldest(inactiveList)
	c.state[p] = evicted
	c.at[p] = c.age
	c.age++
	return p
}

// drop takes a page out for good.
func (c *twoList) drop(p uint32) {
	if c.has(p) {
		c.lengths[c.listOf(p)]--
		c.size--
	}
	c.state[p] = 0
}

// deactivations is how many pages of the active list are moved to the inactive
// one for each page that is evicted. The active list is left alone unless the
// inactive one is low, or pages that come back were activated since reclaim ran
// last (prepare_scan_control); then both are scanned at the same priority
// (shrink_lruvec).
func (c *twoList) deactivations() float64 {
	told := c.counted()
	often := 1.0 // how much of reclaim's time the active list is scanned
	if inactive, act := told[inactiveList]*c.scale, told[activeList]*c.scale; inactive*inactiveRatio(inactive+act) >= act {
		if c.lags > 0 { // that pages were activated is told just as rarely, and true for one batch then
			return 0
		}
		often -= math.Pow(1-c.recent, reclaimBatch)
	}
	inactive, act := c.lengths[inactiveList]*c.scale, c.lengths[activeList]*c.scale
	if c.host { // kswapd scans all that a priority tells it to
		return often * float64(act) / float64(max(inactive, 1))
	}
	scanned, moved := 0, 0
	for priority := defPriority; priority >= 0 && scanned < reclaimBatch; priority-- {
		i, a := inactive>>priority, act>>priority
		for (i > 0 || a > 0) && scanned < reclaimBatch {
			n, m := min(i, reclaimBatch), min(a, reclaimBatch)
			i, a, scanned, moved = i-n, a-m, scanned+n, moved+m
		}
	}
	return often * float64(moved) / float64(max(scanned, 1))
}

// inactiveRatio is by how many times the active list may be as long as the
// inactive one (inactive_is_low), for so many pages.
func inactiveRatio(pages int) int {
	gib := pages >> 18
	ratio := 1
	for gib > 0 && (ratio+1)*(ratio+1) <= 10*gib {
		ratio++
	}
	return ratio
}
