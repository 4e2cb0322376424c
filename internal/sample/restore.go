package sample

import (
	"maps"
	"slices"
	"time"
)

// NewWindow is a window without any value, to be filled with what was kept of
// another one.
func NewWindow(start time.Time, length time.Duration) *Window {
	w := newWindow(start)
	w.Length = length
	return w
}

// Metrics are those that the window has series or histograms of, in order.
func (w *Window) Metrics() []Metric {
	all := map[Metric]bool{}
	for m, of := range w.series {
		all[m] = all[m] || len(of) > 0
	}
	for m, of := range w.histograms {
		all[m] = all[m] || len(of) > 0
	}
	maps.DeleteFunc(all, func(_ Metric, has bool) bool { return !has })
	return slices.Sorted(maps.Keys(all))
}

// SetSeries puts a series in the place of what was there. It is the window's
// from then on, and has at least one point.
func (w *Window) SetSeries(m Metric, e Entity, s *Series) {
	if w.series[m] == nil {
		w.series[m] = map[Entity]*Series{}
	}
	w.series[m][e] = s
}

// SetHistogram does the same with a histogram.
func (w *Window) SetHistogram(m Metric, e Entity, h *Hist) {
	if w.histograms[m] == nil {
		w.histograms[m] = map[Entity]*Hist{}
	}
	w.histograms[m][e] = h
}
