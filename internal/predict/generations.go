package predict

// generations is one cache as Linux keeps it with MGLRU, for pages that calls read
// (mm/vmscan.c, mm/workingset.c, mm/swap.c and include/linux/mm_inline.h of 6.12). A page
// comes into the oldest generation, and is evicted from there, the one that came first
// first, unless it was read often: then it goes to the next generation, as if it had never
// been read, and is the first to be looked at when that is the oldest. How often is often is
// learned from pages that come back: they have tiers by how often they were read, and those
// above the first are kept whose evicted pages come back more than twice as often as those of
// the first. What was read five times always is kept.
//
// Since Linux 6.14 a page that was read five times is known for that from then on, is kept
// again after four reads, and comes to where the others are that were kept; those of a tier
// are kept that come back one and a half times as often.
type generations struct {
	held
	host  bool // reclaim is the host's, not a cgroup's
	since bool // Linux 6.14 or later

	first, last uint32 // the oldest generation and the youngest: min_seq, max_seq
	all         [mostGenerations]generation
	in          []uint8 // by page: its generation, modulo mostGenerations
	reads       []uint8 // by page: since it came or was kept, mostReads at most; and whether there were more

	returned, parted   [tiers]float64 // pages of each tier that came back; that were evicted or kept: of generations before
	returning, parting [tiers]float64 // of this one
	batch              int            // evictions until it is told again which tiers are kept
	kept               uint8          // the first of these
}

// generation is a list of pages: those that were kept, of which the last is looked at first,
// and then those that came.
type generation struct {
	kept []uint32
	came queue
	size int
}

const (
	leastGenerations = 2  // MIN_NR_GENS
	mostGenerations  = 4  // MAX_NR_GENS
	tiers            = 4  // MAX_NR_TIERS
	evictedAtOnce    = 64 // MIN_LRU_BATCH

	mostReads = 4                // LRU_REFS_WIDTH is 2
	more      = 8                // PG_workingset
	often     = mostReads | more // is kept in any case

	before = mostGenerations // of a page that was evicted before anything was seen
)

// tierOf is lru_tier_from_refs.
func tierOf(reads uint8) uint8 {
	if reads&more != 0 {
		return tiers - 1
	}
	return [mostReads + 1]uint8{0, 0, 1, 2, 2}[reads]
}

func newGenerations(pages, room, scale int, host, since bool) *generations {
	return &generations{held: newHeld(pages, room, scale), host: host, since: since, last: leastGenerations, in: make([]uint8, pages), reads: make([]uint8, pages), kept: tiers}
}

// had puts a page in that was there before anything was seen. Of those on the active list, as
// the kernel counts, are all but the oldest generation's (lru_gen_is_active).
func (c *generations) had(p uint32, hot bool) {
	c.state[p] = resident
	if hot {
		c.come(c.first+1, p)
	} else {
		c.come(c.first, p)
	}
}

// went is a page that was evicted before anything was seen, and is to come back.
func (c *generations) went(p uint32) {
	c.state[p], c.at[p], c.in[p] = evicted, c.first, before
}

func (c *generations) oldest() *generation { return &c.all[c.first%mostGenerations] }

// on tells whether a page is on a list of a generation, at that place.
func (c *generations) on(generation uint32, p uint32, place uint32) bool {
	return c.state[p]&resident != 0 && c.in[p] == uint8(generation%mostGenerations) && c.at[p] == place
}

// The places of pages that came and of those that were kept are numbers of the two kinds.
const keptPlace = 1 << 31

// come puts a page at the end of a generation at which pages are evicted last.
func (c *generations) come(generation uint32, p uint32) {
	g := &c.all[generation%mostGenerations]
	if len(g.came.pages) == cap(g.came.pages) {
		kept := make([]uint32, 0, 2*g.size+evictedAtOnce)
		for i := g.came.first; i < len(g.came.pages); i++ {
			if p := g.came.pages[i]; c.on(generation, p, uint32(i)) {
				c.at[p] = uint32(len(kept))
				kept = append(kept, p)
			}
		}
		g.came = queue{pages: kept}
	}
	c.put(generation, p, uint32(len(g.came.pages)))
	g.came.pages = append(g.came.pages, p)
}

// keep has a page of the oldest generation be of the next (folio_inc_gen): at the end at which
// pages are evicted first, since Linux 6.14 at the other.
func (c *generations) keep(p uint32) {
	c.state[p] &^= referenced | active
	if c.since {
		c.reads[p] &= more
		c.come(c.first+1, p)
		return
	}
	c.reads[p] = 0
	g := &c.all[(c.first+1)%mostGenerations]
	c.put(c.first+1, p, keptPlace|uint32(len(g.kept)))
	g.kept = append(g.kept, p)
}

func (c *generations) put(generation uint32, p uint32, place uint32) {
	c.in[p], c.at[p] = uint8(generation%mostGenerations), place
	c.all[generation%mostGenerations].size++
	c.size++
}

// take takes the page off the oldest generation that is the next to be looked at.
func (c *generations) take() (p uint32, ok bool) {
	g := c.oldest()
	for n := len(g.kept); n > 0; n = len(g.kept) {
		p, g.kept = g.kept[n-1], g.kept[:n-1]
		if c.on(c.first, p, keptPlace|uint32(n-1)) {
			c.leave(p)
			return p, true
		}
	}
	for g.came.first < len(g.came.pages) {
		p, place := g.came.pages[g.came.first], g.came.first
		g.came.first++
		if c.on(c.first, p, uint32(place)) {
			c.leave(p)
			return p, true
		}
	}
	return 0, false
}

func (c *generations) leave(p uint32) {
	c.all[c.in[p]].size--
	c.size--
}

// insert puts a page in that is not there.
func (c *generations) insert(p uint32, written bool) {
	reads := uint8(0)
	if c.state[p]&evicted != 0 && !written {
		reads = c.comesBack(p)
	}
	for c.full() {
		c.evict()
	}
	c.state[p], c.reads[p] = resident, reads
	if reads == often {
		c.state[p] |= referenced | active
	}
	to := c.first // lru_gen_add_folio, lru_gen_folio_seq
	if c.first+leastGenerations < c.last && (!c.since || reads&more != 0) {
		to++
	}
	c.come(to, p)
}

// comesBack counts a page that was evicted, unless that is too long ago, and tells how often
// it is taken to have been read (lru_gen_test_recent, lru_gen_refault).
func (c *generations) comesBack(p uint32) (reads uint8) {
	was, then := c.reads[p], c.at[p]
	switch {
	case !c.since && then != c.first || c.since && c.last-then >= mostGenerations:
		return 0
	case c.since:
		reads = was & more
	case was >= mostReads: // it would have been kept if it had been read once more
		reads = often
	}
	if c.in[p] == before { // as many leave as come
		c.parting[tierOf(was)] += float64(c.scale)
	}
	c.returning[tierOf(was)] += float64(c.scale)
	return reads
}

// mark is folio_inc_refs.
func (c *generations) mark(p uint32) {
	if c.reads[p]&^more < mostReads {
		c.reads[p]++
	} else {
		c.reads[p] |= more
	}
	if c.reads[p] == often {
		c.state[p] |= referenced | active // more reads change nothing
	}
}

// drop takes a page out for good.
func (c *generations) drop(p uint32) {
	if c.has(p) {
		c.leave(p)
	}
	c.state[p] = 0
}

// evict makes room for one page, and tells which it was (evict_folios, sort_folio).
func (c *generations) evict() uint32 {
	for {
		if c.batch == 0 {
			c.batch = max(1, evictedAtOnce/c.scale)
			c.kept = c.firstKept()
			if c.ages() {
				c.last++
			}
		}
		p, ok := c.take()
		if !ok {
			c.next()
			continue
		}
		tier := tierOf(c.reads[p])
		if c.reads[p] != often || !c.since {
			c.parting[tier] += float64(c.scale)
		}
		if c.reads[p] == often || tier >= c.kept {
			c.keep(p)
			continue
		}
		c.batch--
		c.state[p] = evicted
		c.at[p] = c.first // its shadow, beside reads
		return p
	}
}

// next has the next generation be the oldest (try_to_inc_min_seq, reset_ctrl_pos).
func (c *generations) next() {
	*c.oldest() = generation{}
	c.first++
	for t := range tiers {
		c.returned[t] = (c.returned[t] + c.returning[t]) / 2
		c.parted[t] = (c.parted[t] + c.parting[t]) / 2
	}
	c.returning, c.parting = [tiers]float64{}, [tiers]float64{}
	if c.first+leastGenerations > c.last {
		c.last++
	}
	c.batch = 0
}

// ages tells whether there is to be a new generation before the oldest is empty
// (should_run_aging). A cgroup's reclaim goes without, unless it is so small that reclaim
// finds nothing at its first priority (get_nr_to_scan).
func (c *generations) ages() bool {
	if c.first+leastGenerations < c.last || !c.host && c.size*c.scale>>defPriority > 0 {
		return false
	}
	if c.since {
		return true
	}
	young := c.all[c.last%mostGenerations].size
	return young*leastGenerations > c.size || c.oldest().size*(leastGenerations+2) < c.size
}

// firstKept is the first tier that is kept (get_tier_idx, positive_ctrl_err).
func (c *generations) firstKept() uint8 {
	times := 2.0
	if c.since {
		times = 1.5
	}
	came, went := c.returned[0]+c.returning[0], c.parted[0]+c.parting[0]
	for t := uint8(1); t < tiers; t++ {
		r, all := c.returned[t]+c.returning[t], c.parted[t]+c.parting[t]
		if r >= evictedAtOnce && r*(went+evictedAtOnce) > times*(came+1)*all {
			return t
		}
	}
	return tiers
}
