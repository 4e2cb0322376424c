package load

import "math/bits"

const pageSize = 4096

// account counts the pages that one thread accesses: every page that a
// call covers.
type account struct {
	seen     bitmap
	accesses int64 // every call counted in full
	dedup    int64 // minus one for a call that starts on the page where the one before ended
	end      int64 // page on which the call before ended, -1 at first
}

func newAccount(pages int64) account {
	return account{seen: newBitmap(pages), end: -1}
}

// add counts one call of n bytes at off; n must be above zero.
func (a *account) add(off, n int64) {
	first, last := off/pageSize, (off+n-1)/pageSize
	a.accesses += last - first + 1
	a.dedup += last - first + 1
	if first == a.end {
		a.dedup--
	}
	a.end = last
	for p := first; p <= last; p++ {
		a.seen.set(p)
	}
}

// bitmap has one bit a page.
type bitmap []uint64

func newBitmap(pages int64) bitmap { return make(bitmap, (pages+63)/64) }

func (b bitmap) set(p int64) { b[p>>6] |= 1 << (p & 63) }

func (b bitmap) or(o bitmap) {
	for i, w := range o {
		b[i] |= w
	}
}

func (b bitmap) count() int64 {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return int64(n)
}

// countBoth is how many bits are set in both; the shorter one ends the count.
func countBoth(a, b bitmap) int64 {
	n := 0
	for i := range min(len(a), len(b)) {
		n += bits.OnesCount64(a[i] & b[i])
	}
	return int64(n)
}
