package sample

import (
	"maps"
	"slices"
)

// Join makes one window of several that follow each other, with every point:
// what a single window over the whole time would have been. Time between two
// windows that nobody observed is left out: the length is what was observed,
// so that rates stay true, and no clock that was set in between matters. The
// zero value is ready for use.
type Join struct {
	w      *Window
	copied bool
	points int
	series int
}

// Add takes the next window, which must not change any more. One alone is
// handed back by Window as it is.
func (j *Join) Add(next *Window) {
	for _, of := range next.series {
		for _, s := range of {
			j.points += len(s.Points)
		}
	}
	if j.w == nil {
		j.w = next
		return
	}
	if !j.copied {
		first := j.w
		j.w, j.copied = newWindow(first.Start), true
		j.w.Told = first.Told
		j.append(first)
	}
	j.append(next)
}

func (j *Join) append(next *Window) {
	w, offset := j.w, j.w.Length
	w.Length += next.Length
	maps.Copy(w.Processes, next.Processes)
	maps.Copy(w.Files, next.Files)
	for _, g := range next.Gaps {
		if !slices.ContainsFunc(w.Gaps, g.same) {
			w.Gaps = append(w.Gaps, g)
		}
	}
	for m, of := range next.series {
		all := w.series[m]
		if all == nil {
			all = make(map[Entity]*Series, len(of))
			w.series[m] = all
		}
		for e, s := range of {
			old := all[e]
			if old == nil {
				j.series++
				old = newSeries(s.Source)
				all[e] = old
			}
			for _, p := range s.Points {
				p.At += offset
				old.Points = append(old.Points, p)
			}
		}
	}
	for m, of := range next.histograms {
		for e, h := range of {
			if old := w.Histogram(m, e); old != nil {
				old.Merge(&h.Histogram)
				continue
			}
			first := *h
			w.SetHistogram(m, e, &first)
		}
	}
}

// same tells whether two gaps say the same.
func (g Gap) same(o Gap) bool {
	return g.Source == o.Source && g.Why == o.Why && slices.Equal(g.Metrics, o.Metrics)
}

// Points is how many points the window has: what its memory goes by.
func (j *Join) Points() int { return j.points }

// Series is how many series were put together of two windows or more.
func (j *Join) Series() int { return j.series }

// Window is all that was added; nil when nothing was.
func (j *Join) Window() *Window { return j.w }
