package host

import "maps"

// Step says how a cumulative counter moved.
type Step int

const (
	// Begun is the first look: there is nothing to compare with.
	Begun Step = iota
	// Rose is an increase, or none.
	Rose
	// Fell is a value below the one before: the counter was reset, and what
	// it counted in between is not known.
	Fell
)

// Counters turns cumulative kernel counters into increases. The zero value is
// ready for use.
type Counters[K comparable] struct {
	last map[K]counted
	pass uint64 // how often Sweep was called
}

// counted is the value of a counter, and the pass in which it was looked at.
type counted struct{ value, pass uint64 }

// Reset forgets every value: the next look is the first.
func (c *Counters[K]) Reset() { clear(c.last) }

// Forget forgets one value.
func (c *Counters[K]) Forget(k K) { delete(c.last, k) }

// Sweep forgets every value that was not looked at since the last Sweep: of what
// comes and goes all would else be remembered for ever.
func (c *Counters[K]) Sweep() {
	maps.DeleteFunc(c.last, func(_ K, x counted) bool { return x.pass != c.pass })
	c.pass++
}

// Step compares now with the value before and remembers it.
func (c *Counters[K]) Step(k K, now uint64) (rise uint64, how Step) {
	old, seen := c.last[k]
	c.set(k, now)
	switch {
	case !seen:
		return 0, Begun
	case now < old.value:
		return 0, Fell
	}
	return now - old.value, Rose
}

func (c *Counters[K]) set(k K, value uint64) {
	if c.last == nil {
		c.last = map[K]counted{}
	}
	c.last[k] = counted{value, c.pass}
}

// wrapRise is the largest increase that a wrapped 32-bit counter is believed
// to have made. The kernel's are milliseconds: 2^28 of them are 74 hours.
const wrapRise = 1 << 28

// Step32 is Step for a counter that the kernel keeps in 32 bits, which starts
// again at 0 after 2^32-1. A fall that no wrap explains is a reset.
func (c *Counters[K]) Step32(k K, now uint64) (rise uint64, how Step) {
	old := c.last[k].value
	rise, how = c.Step(k, now)
	if how == Fell && old < 1<<32 {
		if r := uint64(uint32(now) - uint32(old)); r < wrapRise {
			return r, Rose
		}
	}
	return rise, how
}

// New counts k from zero if it has not been seen: what came to be since the
// first look began at zero.
func (c *Counters[K]) New(k K) {
	if _, seen := c.last[k]; !seen {
		c.set(k, 0)
	}
}
