// Package predict says what a page cache of another size would do: it plays
// what happened to a sample of pages again, in caches of other sizes that decide
// as the kernel does. It is pure: what it knows is handed in. docs/predict.md
// says how it works and how far it is right.
package predict

import (
	"sort"
	"time"
)

// Kind is what happened to a page.
type Kind uint8

// The kinds.
const (
	Read    Kind = iota + 1 // asked for
	Added                   // put into the cache
	Evicted                 // taken out to make room
	Dropped                 // taken out for another reason: truncated, or thrown away
	Written                 // became dirty
	Faulted                 // asked for through a mapping
)

// Event is something that happened to a watched page.
type Event struct {
	Page  uint32 // counted from 0 in the order of their appearance
	At    uint32 // ms since the beginning
	Kind  Kind
	Asked bool // by those whose reads are in question
}

// Trace is what happened to the watched pages within a time.
type Trace struct {
	Events []Event
	Pages  int           // that are in it
	Scale  int           // pages that each of them stands for
	Length time.Duration // of the whole
	Asked  []Total       // all pages that were asked for, watched or not; empty where that is not known
	Places []int64       // by page: its place in its file, and files far apart; nil where that is not known
	Ahead  int           // pages that the kernel reads ahead at most
	Sizes  []int64       // bytes of the files, as Places has them; 0 where that is not known
}

// FileApart is how far the first pages of two files are from each other in Trace.Places: no
// file has more.
const FileApart = 1 << 44

// Total is how many pages had been asked for at a time.
type Total struct {
	At    uint32 // ms since the beginning
	Pages uint64
}

// groups is how many parts the pages are put into, to see how much the
// prediction depends on which pages happen to be watched.
const groups = 64

// groupOf spreads pages over the groups, whatever their order.
func groupOf(page uint32) int { return int(page * 0x9E3779B1 >> 26) }

// Thinner is a trace of the pages for which keep holds, as numbers without gaps.
func (t *Trace) Thinner(keep func(page uint32) bool, scale int) *Trace {
	number := make([]uint32, t.Pages)
	thin := &Trace{Scale: t.Scale * scale, Length: t.Length, Asked: t.Asked, Ahead: t.Ahead, Sizes: t.Sizes}
	for _, e := range t.Events {
		if !keep(e.Page) {
			continue
		}
		if number[e.Page] == 0 {
			thin.Pages++
			if t.Places != nil {
				thin.Places = append(thin.Places, t.Places[e.Page])
			}
			number[e.Page] = uint32(thin.Pages)
		}
		e.Page = number[e.Page] - 1
		thin.Events = append(thin.Events, e)
	}
	return thin
}

// askedBy is how many pages had been asked for at a time, between two totals in
// proportion.
func (t *Trace) askedBy(at float64) float64 {
	i := sort.Search(len(t.Asked), func(i int) bool { return float64(t.Asked[i].At) >= at })
	switch {
	case len(t.Asked) == 0:
		return 0
	case i == len(t.Asked):
		return float64(t.Asked[i-1].Pages)
	case i == 0:
		return float64(t.Asked[0].Pages)
	}
	a, b := t.Asked[i-1], t.Asked[i]
	return float64(a.Pages) + float64(b.Pages-a.Pages)*(at-float64(a.At))/float64(b.At-a.At)
}
