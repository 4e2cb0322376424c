package sample

import (
	"cmp"
	"maps"
	"slices"
)

// Merged is the window with processes seen as one: the figures of each key of
// into are added to those of its value. Processes that are not keys stay as they
// are. What is known of a process besides its figures is kept for all.
func (w *Window) Merged(into map[int]int) *Window {
	to := func(e Entity) Entity {
		if pid, ok := into[e.PID]; ok {
			e.PID = pid
		}
		return e
	}
	m := NewWindow(w.Start, w.Length)
	m.Processes, m.Files, m.Gaps, m.Told = maps.Clone(w.Processes), maps.Clone(w.Files), slices.Clone(w.Gaps), w.Told
	kinds := map[Metric]Kind{}
	for _, i := range Catalog() {
		kinds[i.Metric] = i.Kind
	}
	for metric, of := range w.series {
		for e, s := range of {
			now := to(e)
			old := m.Get(metric, now)
			switch {
			case old == nil:
				m.SetSeries(metric, now, &Series{Source: s.Source, Points: slices.Clone(s.Points)})
			case metric == CacheLongest: // of all, not of all together
				old.Points[len(old.Points)-1].Value = max(old.Last(), s.Last())
			case metric == WaitWorst: // likewise, of a thread
				if s.Sum() > old.Sum() {
					old.Points = slices.Clone(s.Points)
				}
			case metric == ProcProcessors || metric == ProcNice: // likewise, of a process
				old.Points[len(old.Points)-1].Value = min(old.Last(), s.Last())
			case kinds[metric] == Gauge:
				old.Points[len(old.Points)-1].Value += s.Last()
			default:
				old.Points = append(old.Points, s.Points...)
			}
		}
	}
	for metric, of := range m.series { // in the order of time, and the same each time
		if kinds[metric] == Counter {
			for _, s := range of {
				slices.SortFunc(s.Points, func(a, b Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Value, b.Value)) })
			}
		}
	}
	for metric, of := range w.histograms {
		for e, h := range of {
			if old := m.Histogram(metric, to(e)); old != nil {
				old.Merge(&h.Histogram)
				continue
			}
			first := *h
			m.SetHistogram(metric, to(e), &first)
		}
	}
	return m
}
