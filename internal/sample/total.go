package sample

import (
	"maps"
	"slices"
)

// Total is several windows that follow each other, seen as one. Of a counter
// it keeps one point, the sum; of a gauge the newest. The zero value is ready
// for use.
type Total struct {
	w      *Window
	gauges map[Metric]bool
}

// Add takes the next window.
func (t *Total) Add(next *Window) {
	if t.w == nil {
		t.w = newWindow(next.Start)
		t.gauges = map[Metric]bool{}
		for _, i := range Catalog() {
			t.gauges[i.Metric] = i.Kind == Gauge
		}
	}
	t.w.Length += next.Length // not by the clock, which may be set, or pass over what nobody observed
	maps.Copy(t.w.Processes, next.Processes)
	maps.Copy(t.w.Files, next.Files)
	for _, g := range next.Gaps {
		if !slices.ContainsFunc(t.w.Gaps, g.same) {
			t.w.Gaps = append(t.w.Gaps, g)
		}
	}
	for m, all := range next.series {
		if t.w.series[m] == nil {
			t.w.series[m] = map[Entity]*Series{}
		}
		for e, s := range all {
			t.add(m, e, s)
		}
	}
	for m, all := range next.histograms {
		if t.w.histograms[m] == nil {
			t.w.histograms[m] = map[Entity]*Hist{}
		}
		for e, h := range all {
			if old := t.w.histograms[m][e]; old != nil {
				old.Merge(&h.Histogram)
			} else {
				first := *h
				t.w.histograms[m][e] = &first
			}
		}
	}
}

func (t *Total) add(m Metric, e Entity, s *Series) {
	old := t.w.series[m][e]
	if old == nil {
		old = &Series{Source: s.Source, Points: []Point{{}}}
		t.w.series[m][e] = old
	}
	p := &old.Points[0]
	p.At = t.w.Length
	if t.gauges[m] {
		p.Value = s.Last()
	} else {
		p.Value += s.Sum()
	}
}

// Window is all that was added; nil when nothing was.
func (t *Total) Window() *Window { return t.w }
