package predict

// cache is a page cache of some size that decides as a kernel does. It holds watched pages.
type cache interface {
	has(p uint32) bool
	full() bool
	insert(p uint32, written bool) // a page that is not there
	mark(p uint32)                 // a page that is there is used
	evict() uint32                 // makes room for one page, and tells which it was
	drop(p uint32)                 // for good
	pages() *held
}

// held is which pages a cache has.
type held struct {
	room  int      // watched pages that fit
	scale int      // pages that each stands for
	size  int      // pages that are in it
	state []uint8  // by page
	at    []uint32 // by page: of one in the cache its place on its list; of an evicted one its shadow
}

// What is known of a page.
const (
	resident uint8 = 1 << iota
	active         // with referenced: one use more changes nothing
	referenced
	fresh // came from disk, and nobody has asked for it yet
	evicted
	marked // who uses it has the next ones read ahead
)

// newHeld has room for one page at least: without any, nothing could be let go for the next.
func newHeld(pages, room, scale int) held {
	return held{room: max(1, room), scale: scale, state: make([]uint8, pages), at: make([]uint32, pages)}
}

func (h *held) pages() *held { return h }

// has tells whether a page is in the cache.
func (h *held) has(p uint32) bool { return h.state[p]&resident != 0 }

// full tells whether there is no room left.
func (h *held) full() bool { return h.size >= h.room }
