package predict

import "math/bits"

// stack has the LRU stack distances of pages, exact within the watched ones: how many
// different ones were used since a page was used last. A cache that evicts whatever was used
// longest ago holds the page if it holds more pages than that (Mattson et al., IBM Systems
// Journal 9, 1970). Only the last use of a page counts, so uses are numbered anew where no
// number is left, and what tells how many there are after one fits into the processor's own
// cache.
type stack struct {
	last  []uint32 // by page: the number of its last use, from 1; 0 never
	uses  []uint32 // by number: the page
	valid []uint64 // by number, one bit each: it is the page's last use
	sums  []int32  // how many bits of these words are set (Fenwick, Software: Practice and Experience 24, 1994)
	used  int32    // bits that are set
}

func newStack(pages int) *stack {
	s := &stack{last: make([]uint32, pages)}
	words := pages/32 + 2 // twice as many numbers as pages
	s.uses = make([]uint32, 1, 64*words)
	s.valid, s.sums = make([]uint64, words), make([]int32, words+1)
	return s
}

// distance is how many pages were used since one was, -1 where it was not.
func (s *stack) distance(page uint32) int {
	at := s.last[page]
	if at == 0 {
		return -1
	}
	word := at / 64
	later := s.used - int32(bits.OnesCount64(s.valid[word]<<(63-at%64)))
	for i := word; i > 0; i &= i - 1 {
		later -= s.sums[i]
	}
	return int(later)
}

// forget has a page be as new.
func (s *stack) forget(page uint32) {
	if at := s.last[page]; at > 0 {
		s.flip(at, -1)
		s.last[page] = 0
	}
}

// use is a use of a page.
func (s *stack) use(page uint32) {
	s.forget(page)
	if len(s.uses) == cap(s.uses) {
		s.renumber()
	}
	s.number(page)
}

// number gives a use the next number.
func (s *stack) number(page uint32) {
	at := uint32(len(s.uses))
	s.uses = append(s.uses, page)
	s.last[page] = at
	s.flip(at, 1)
}

func (s *stack) flip(at uint32, by int32) {
	s.valid[at/64] ^= 1 << (at % 64)
	for i := int(at/64) + 1; i < len(s.sums); i += i & -i {
		s.sums[i] += by
	}
	s.used += by
}

// renumber numbers the last uses anew, in their order.
func (s *stack) renumber() {
	before := s.uses
	s.uses = s.uses[:1] // written behind where it is read
	clear(s.valid)
	clear(s.sums)
	s.used = 0
	for at, page := range before {
		if at > 0 && s.last[page] == uint32(at) {
			s.number(page)
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
