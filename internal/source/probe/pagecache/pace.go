package pagecache

import "time"

// Reading cached data makes the most events by far, and says the least: on
// some machines the way to any kernel program takes 100 ns of a read that
// takes 1,000. So where there are very many such reads and hardly any that
// miss, they are counted in one slice of each period and scaled. What enters
// and leaves the cache is always counted one by one.
const (
	sampleAbove = 200_000 // read calls a second; see pace for when all are counted again
	sampleMiss  = 0.01    // pages inserted for one visited, at most
	period      = 200 * time.Millisecond
	slice       = period / 10
)

// pace decides from one period after the other whether reads are sampled.
// Sampling begins with one period above the bound, and ends when a second was
// below half of it: in a slice a reader may not have been on a processor at
// all. Misses end it at once, and half of what ends it keeps it from beginning.
type pace struct {
	above   float64 // read calls a second
	miss    float64 // pages inserted for one visited
	sampled bool
	last    []activity // while sampled, the newest second
}

// activity is what happened in a period.
type activity struct {
	calls, accesses, inserted float64
	length                    time.Duration
}

// next adds a period and says whether the one that follows is sampled.
func (p *pace) next(a activity) bool {
	if !p.sampled {
		p.sampled = a.calls/a.length.Seconds() >= p.above && a.inserted <= p.miss/2*a.accesses
		p.last = append(p.last[:0], a)
		return p.sampled
	}
	var sum activity
	for _, l := range append(p.last, a) {
		sum.calls += l.calls
		sum.accesses += l.accesses
		sum.length += l.length
	}
	mean := a.length.Seconds() / sum.length.Seconds()
	if a.inserted > p.miss*max(a.accesses, sum.accesses*mean) {
		p.sampled = false
		return false
	}
	p.last = append(p.last, a)
	if len(p.last) < int(time.Second/period) {
		return true
	}
	p.last = p.last[1:]
	p.sampled = sum.calls/sum.length.Seconds() >= p.above/2
	return p.sampled
}
