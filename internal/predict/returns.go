package predict

import (
	"cmp"
	"math"
	"slices"
)

// Returns are pages that came back into a cache after they had been evicted, by how
// far away they had been, in evictions. More memory keeps those that were evicted
// last before they come back. A page can only be seen to come back that was evicted
// while somebody looked, so that what is further away is seen less often, or not.
type Returns struct {
	Away    []Away
	Events  float64 // how many pages were watched that came back
	Evicted float64 // pages that were evicted in the same time
	Horizon float64 // evictions since somebody looks, at the end of that time, or how many of them can be looked back
	Read    float64 // pages that were read from disk in that time
	All     float64 // share of those that came back from any distance, as the kernel counts it; 0: not known
}

// Away is pages that had been at least Low and less than High evictions away.
type Away struct{ Low, High, Pages float64 }

// fewReturns is how many pages must have been seen to come back for a word on how
// far away they had been.
const fewReturns = 100

// Enough tells whether that is so.
func (r *Returns) Enough() bool { return r.Events >= fewReturns && r.Evicted > 0 && r.Read > 0 }

// seenFrom is the evictions that a return from so far away can be of: those in the
// time and so much before that somebody looked. There were at least as many in all as
// in the time, however far back one can look.
func (r *Returns) seenFrom(distance float64) float64 {
	all := max(r.Horizon, r.Evicted)
	return all - max(all-r.Evicted, distance)
}

// tooFar is the part of the horizon beyond which too little is seen.
const tooFar = 0.8

// walk goes through the distances, nearest first, and tells of each which share of
// what is evicted comes back from no further away, and how much larger the cache
// must be to keep those, in pages. While a page is away others are evicted that
// would stay in a larger cache, too, so that room grows with each step by the share
// of the pages that stay away longer than that (the average eviction time of Hu et
// al., USENIX ATC '16, counted from the eviction on). All that comes back fits once
// the cache is as much larger as pages are away at a time, whatever the rules are by
// which the kernel evicts: that is Little's law.
func (r *Returns) walk(f func(back, room float64) bool) {
	away := slices.Clone(r.Away)
	slices.SortFunc(away, func(a, b Away) int { return cmp.Compare(a.Low, b.Low) })
	back, room, at := 0.0, 0.0, 0.0
	for _, a := range away {
		if a.High > tooFar*r.Horizon {
			break
		}
		room += max(0, a.Low-at) * (1 - back)
		if !f(back, room) {
			return
		}
		of := min(1-back, a.Pages/r.seenFrom((a.Low+a.High)/2))
		room += (a.High - max(at, a.Low)) * (1 - back - of/2)
		back, at = back+of, a.High
		if !f(back, room) {
			return
		}
	}
	f(back, room+max(0, tooFar*r.Horizon-at)*(1-back))
}

// Back is the share of the evicted pages that is seen to come back.
func (r *Returns) Back() float64 {
	var most float64
	r.walk(func(back, _ float64) bool { most = back; return true })
	return most
}

// Room is how much larger the cache must be, in pages, for so large a share of those
// that are seen to come back to stay in it, 0 to 1.
func (r *Returns) Room(share float64) float64 {
	want := clamp(share) * r.Back()
	var room, had, wasBack float64
	r.walk(func(back, needs float64) bool {
		if back >= want && back > wasBack {
			room = had + (needs-had)*clamp((want-wasBack)/(back-wasBack))
			return false
		}
		room, had, wasBack = needs, needs, back
		return true
	})
	return room
}

// kept is the share of the evicted pages that would stay in a cache so much larger
// until they come back.
func (r *Returns) kept(pages float64) float64 {
	var kept, had, wasBack float64
	r.walk(func(back, needs float64) bool {
		if needs >= pages && needs > had {
			kept = wasBack + (back-wasBack)*clamp((pages-had)/(needs-had))
			return false
		}
		kept, had, wasBack = back, needs, back
		return true
	})
	return kept
}

// How far the model is off the kernel's rules (docs/predictions.md): of the room,
// and of what comes from disk, where about half of that is saved and at the ends.
const (
	roomOff  = 0.08
	shareOff = 0.03
	endsOff  = 0.01
)

// Saved is the share of the pages that are read from disk which a cache so many
// pages larger saves, with its interval: what the model and the number of the
// watched pages leave open, and what came back from too far away to be seen.
func (r *Returns) Saved(pages float64) Share {
	of := func(pages float64) float64 { return clamp(r.kept(pages) * r.Evicted / r.Read) }
	s := Share{Value: of(pages)}
	half := 4 * s.Value * (1 - s.Value)
	off := endsOff + (shareOff-endsOff)*half + 1.645*math.Sqrt(half/4/max(1, r.Events))
	s.Low = min(s.Value, max(0, of(pages*(1-roomOff))-off))
	unseen := max(0, r.All-clamp(r.Back()*r.Evicted/r.Read)) // from too far away
	s.High = max(s.Value, min(1, of(pages*(1+roomOff))+off+unseen))
	return s
}

func clamp(x float64) float64 { return math.Max(0, math.Min(1, x)) }
