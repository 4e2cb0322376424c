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
	place  []int64  // of these
	rank   []uint32 // by page: its place in order
	unseen int      // pages of which nothing was seen; the numbers of these are the last

	missed [parts + 1]float64 // pages that come with one that is missed
	marks  [parts + 1]float64 // how many of them are marked
	used   [parts + 1]float64 // pages that come when a marked one is used
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
	run := int64(t.Scale)
	for i, page := range seen {
		if i > 0 {
			for at, to := t.Places[seen[i-1]]+run, t.Places[page]-run/2; at < to && to-at <= neighbours*run; at += run {
				a.order, a.place = append(a.order, uint32(first+a.unseen)), append(a.place, at)
				a.unseen++
			}
		}
		a.order, a.place = append(a.order, page), append(a.place, t.Places[page])
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
			if n < t.Ahead {
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
	run   int64
	cache *twoList
	come  func(page uint32)
	due   float64 // pages that are still to come
	owed  float64 // marks that are still to be set
}

// cached is which share of the pages around one is, in parts.
func (r *reader) cached(at int) int {
	held, runs := 0, 0.0
	for _, step := range []int{-1, 1} {
		n, far := 0, int64(0)
		for i := at + step; i >= 0 && i < len(r.order) && n < neighbours; i += step {
			distance := max(r.place[i]-r.place[at], r.place[at]-r.place[i])
			if distance > apart*r.run {
				break
			}
			far = distance
			n++
			if r.cache.has(r.order[i]) {
				held++
			}
		}
		runs += max(float64(n), float64(far)/float64(r.run))
	}
	return int(parts * float64(held) / max(1, runs))
}

// miss reads ahead for a page that is missed.
func (r *reader) miss(page uint32) {
	at := int(r.rank[page])
	c := r.cached(at)
	r.read(at, r.times*r.missed[c], r.times*r.marks[c])
}

// use reads ahead when a marked page is used.
func (r *reader) use(page uint32) {
	r.cache.at[page].state &^= marked
	at := int(r.rank[page])
	r.read(at, r.times*r.used[r.cached(at)], r.times)
}

// read has so many pages come, so many of which are marked: the next ones that are not cached.
func (r *reader) read(at int, pages, marks float64) {
	r.due += pages
	r.owed += marks
	for i := at + 1; r.due >= 1 && i < len(r.order) && r.place[i]-r.place[i-1] <= apart*r.run; i++ {
		page := r.order[i]
		if r.cache.has(page) {
			continue
		}
		r.due--
		r.come(page)
		if r.owed >= 1 {
			r.owed--
			r.cache.at[page].state |= marked
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
