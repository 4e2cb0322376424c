package predict

import "math"

// twoList is one cache as Linux keeps it without MGLRU: an inactive list that
// pages come into and are evicted from, an active one for those that were asked
// for twice, and shadows of evicted pages that tell how far away they are when
// they come back (mm/swap.c, mm/workingset.c, mm/vmscan.c of 6.18). It holds
// watched pages, each of which stands for scale pages of the real one.
type twoList struct {
	room  int  // watched pages that fit
	scale int  // pages that each stands for
	host  bool // reclaim is the host's, not a cgroup's

	at    []slot // by page; the lists' heads stand behind the last page
	pages int
	age   uint32 // evictions and activations so far: nonresident_age

	size      [2]int  // pages of the inactive and the active list
	lags      int     // pages that come in from one telling of the sizes to the next; 0: reclaim knows them
	told      [2]int  // what reclaim was told last
	untold    int     // pages that came in since
	recent    float64 // of the pages that came in of late, those that were activated at once
	owed      float64 // pages of the active list that are still to be moved
	perPage   float64 // of the active list that are moved for each that is evicted
	untilNext int     // evictions until perPage is reckoned again
}

// slot is a page, in one piece: what a page needs of the processor's cache is one line.
type slot struct {
	prev, next int32 // on its list
	shadow     uint32
	state      uint8
}

// What is known of a page.
const (
	resident uint8 = 1 << iota
	active
	referenced
	fresh   // came from disk, and nobody has asked for it yet
	evicted // shadow holds when
	marked  // who uses it has the next ones read ahead
)

const (
	inactiveList, activeList = 0, 1
	reclaimBatch             = 32 // SWAP_CLUSTER_MAX
	defPriority              = 12 // DEF_PRIORITY
)

func newTwoList(pages, room, scale int, host bool) *twoList {
	c := &twoList{room: room, scale: scale, host: host, at: make([]slot, pages+2), pages: pages}
	for _, l := range []int{inactiveList, activeList} {
		h := c.head(l)
		c.at[h].prev, c.at[h].next = h, h
	}
	return c
}

func (c *twoList) head(list int) int32 { return int32(c.pages + list) }

// counted are the sizes that reclaim decides by.
func (c *twoList) counted() [2]int {
	if c.lags > 0 {
		return c.told
	}
	return c.size
}

// full tells whether there is no room left.
func (c *twoList) full() bool { return c.size[0]+c.size[1] >= c.room }

// push puts a page in front of a list.
func (c *twoList) push(list int, p int32) {
	h := c.head(list)
	n := c.at[h].next
	c.at[h].next, c.at[p].prev, c.at[p].next, c.at[n].prev = p, h, n, p
	c.size[list]++
}

func (c *twoList) unlink(list int, p int32) {
	before, after := c.at[p].prev, c.at[p].next
	c.at[before].next, c.at[after].prev = after, before
	c.size[list]--
}

func (c *twoList) listOf(p uint32) int {
	if c.at[p].state&active != 0 {
		return activeList
	}
	return inactiveList
}

// has tells whether a page is in the cache.
func (c *twoList) has(p uint32) bool { return c.at[p].state&resident != 0 }

// insert puts a page in that is not there. Pages that are written are not
// activated (filemap_add_folio: __GFP_WRITE).
func (c *twoList) insert(p uint32, written bool) {
	s := c.at[p].state
	again := 0.0
	now := resident
	if s&evicted != 0 && !written && int(c.age-c.at[p].shadow) <= c.counted()[activeList] {
		now |= active
		c.age++
		again = 1
	}
	c.at[p].state = now
	c.recent += (again - c.recent) / reclaimBatch
	for c.full() {
		c.evict()
	}
	c.push(c.listOf(p), int32(p))
	if c.untold++; c.untold >= c.lags {
		c.told, c.untold = c.size, 0
	}
}

// mark is folio_mark_accessed.
func (c *twoList) mark(p uint32) {
	switch s := c.at[p].state; {
	case s&referenced == 0:
		c.at[p].state |= referenced
	case s&active == 0:
		c.unlink(inactiveList, int32(p))
		c.at[p].state = s&^referenced | active
		c.push(activeList, int32(p))
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
	for c.size[activeList] > 0 && (c.owed >= 1 || c.size[inactiveList] == 0) {
		p := c.at[c.head(activeList)].prev
		c.unlink(activeList, p)
		c.at[p].state &^= active
		c.push(inactiveList, p)
		c.owed = max(0, c.owed-1)
	}
	p := c.at[c.head(inactiveList)].prev
	c.unlink(inactiveList, p)
	c.at[p].state = evicted
	c.at[p].shadow = c.age
	c.age++
	return uint32(p)
}

// drop takes a page out for good.
func (c *twoList) drop(p uint32) {
	if c.has(p) {
		c.unlink(c.listOf(p), int32(p))
	}
	c.at[p].state = 0
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
	inactive, act := c.size[inactiveList]*c.scale, c.size[activeList]*c.scale
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
