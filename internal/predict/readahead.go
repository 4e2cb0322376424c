package predict

import (
	"math"
	"slices"
)

// What the kernel reads ahead depends on what is cached around a page, so that a cache of
// another size does not get the same pages (mm/readahead.c of 6.18). Where a page is missed
// at random, as many pages are read behind it as are cached in a row before it, if these are
// more than the call asks for; those of them that are cached are left out. The last of them
// is marked. Who uses a marked page has the kernel look for the next page that is not
// cached, and read from there on: twice as many as lie between, and four more, or four times
// as many, and eight, where these are few for what is read ahead at most. The first of these
// is marked in its turn.

const (
	neighbours = 8  // watched pages on each side that tell which share is cached around a page
	apart      = 32 // runs between two pages that have nothing to do with each other
	parts      = 64 // of the share that is cached
)

// around is the order of the watched pages in their files, and how many pages are read ahead
// where such a share of the pages around is cached, each of them whether others are or not.
// Between pages that were seen there are some of which nothing was: they may be read ahead,
// and nobody asks for them.
type around struct {
	order  []uint32 // pages, by file and place
	runs   []int64  // of these: which run of its file each is of, and files far apart
	rank   []uint32 // by page: its place in order
	unseen int      // pages of which nothing was seen; the numbers of these are the last

	missed [parts + 1]float64 // pages that come with one that is missed
	marks  [parts + 1]float64 // how many of them are marked
	used   [parts + 1]float64 // pages that come when a marked one is used
	chains [parts + 1]float64 // how likely any come then: the first of them is marked
	times  float64            // by how much more of them come than that: cached pages lie in rows
}

// aroundOf works it out; pages of which nothing was seen are numbered from first on.
func (t *Trace) aroundOf(first int) *around {
	a := &around{times: 1}
	seen := make([]uint32, t.Pages)
	for i := range seen {
		seen[i] = uint32(i)
	}
	slices.SortFunc(seen, func(x, y uint32) int { return int(t.Places[x] - t.Places[y]) })
	add := func(page uint32, run int64) {
		a.order, a.runs = append(a.order, page), append(a.runs, run)
	}
	for i, page := range seen {
		run := t.Places[page] / int64(t.Scale)
		if i > 0 {
			if last := a.runs[len(a.runs)-1]; run-last-1 <= neighbours {
				for between := last + 1; between < run; between++ {
					add(uint32(first+a.unseen), between)
					a.unseen++
				}
			}
		}
		add(page, run)
	}
	a.rank = make([]uint32, first+a.unseen)
	for i, page := range a.order {
		a.rank[page] = uint32(i)
	}
	for i := range a.missed {
		cached := float64(i) / parts
		row := 1 - cached // how likely n are cached in a row
		for n := 0; n <= t.Ahead; n++ {
			if n == t.Ahead {
				row = math.Pow(cached, float64(n))
			}
			if n > 1 {
				a.missed[i] += row * float64(min(n, t.Ahead-1)) * (1 - cached)
				a.marks[i] += row * (1 - cached)
			}
			if n < t.Ahead { // else the next page that is not cached is too far away
				a.chains[i] += row
				a.used[i] += row * (1 + float64(larger(n+2, t.Ahead)-1)*(1-cached))
			}
			row *= cached
		}
	}
	return a
}

// larger is how many pages follow so many where at most so many are read (get_next_ra_size).
func larger(pages, most int) int {
	if pages < most/16 {
		return 4 * pages
	}
	return min(2*pages, most)
}

// reader reads ahead for one cache.
type reader struct {
	*around
	cache cache
	come  func(page uint32)
	due   float64 // pages that are still to come
	owed  float64 // marks that are still to be set
}

// cached is which share of the pages around one is, in parts.
func (r *reader) cached(at int) int {
	held, all := 0, 0
	for _, step := range []int{-1, 1} {
		n, far := 0, 0
		for i := at + step; i >= 0 && i < len(r.order) && n < neighbours; i += step {
			distance := max(r.runs[i]-r.runs[at], r.runs[at]-r.runs[i])
			if distance > apart {
				break
			}
			far = int(distance)
			n++
			if r.cache.has(r.order[i]) {
				held++
			}
		}
		all += max(n, far)
	}
	return (parts*held + all/2) / max(1, all)
}

// miss reads ahead for a page that is missed.
func (r *reader) miss(page uint32) {
	at := int(r.rank[page])
	c := r.cached(at)
	r.read(at, r.times*r.missed[c], r.times*r.marks[c])
}

// use reads ahead when a marked page is used.
func (r *reader) use(page uint32) {
	r.cache.pages().state[page] &^= marked
	at := int(r.rank[page])
	c := r.cached(at)
	r.read(at, r.times*r.used[c], r.times*r.chains[c])
}

// read has so many pages come, so many of which are marked: the next ones that are not cached.
func (r *reader) read(at int, pages, marks float64) {
	r.due += pages
	r.owed += marks
	for i := at + 1; r.due >= 1 && i < len(r.order) && r.runs[i]-r.runs[i-1] <= apart; i++ {
		page := r.order[i]
		if r.cache.has(page) {
			continue
		}
		r.due--
		r.come(page)
		if r.owed >= 1 {
			r.owed--
			r.cache.pages().state[page] |= marked
		}
	}
	r.due = min(r.due, 1) // what found no place behind one page is not read behind another
}

// aheadOfMisses has what the kernel reads ahead simulated, where it brings in pages that
// nobody uses, in place of playing what it brought here; the tally is that of the present
// size. How much more is read than of pages that are cached independently of each other is
// what makes as many come as really came. Where nothing does, this is not how pages came.
func (p *played) aheadOfMisses(room int, c *Curve, seen float64) *tally {
	const step, least, most = 0.25, 0.5, 3
	p.around = p.aroundOf(p.Pages + p.ghost)
	once := perAsked(p.follow(room, c.Now))
	p.times += step
	more := perAsked(p.play(room))
	if more > once {
		if p.times = 1 + step*(seen-once)/(more-once); p.times >= least && p.times <= most {
			return p.play(room)
		}
	}
	p.around, p.lags = nil, false
	return p.follow(room, c.Now)
}

// ReadsAhead tells whether what is read ahead in caches of other sizes was simulated.
func (c *Curve) ReadsAhead() bool { return c.around != nil }
