package sample

import (
	"strings"
	"time"
)

// Window is everything that was measured between two instants. It is built by
// a Recorder, and only read after that.
type Window struct {
	Start      time.Time
	Length     time.Duration
	Processes  map[int]Process
	Files      map[FileID]File
	Gaps       []Gap
	Told       bool // taken from what tools printed: the host's figures stand for whoever waits
	series     map[Metric]map[Entity]*Series
	histograms map[Metric]map[Entity]*Hist
}

// Hist is a histogram with its source.
type Hist struct {
	Histogram
	Source string
}

func newWindow(start time.Time) *Window {
	return &Window{
		Start:      start,
		Processes:  map[int]Process{},
		Files:      map[FileID]File{},
		series:     map[Metric]map[Entity]*Series{},
		histograms: map[Metric]map[Entity]*Hist{},
	}
}

// Seconds is the length of the window.
func (w *Window) Seconds() float64 { return w.Length.Seconds() }

// Get is one series, nil when it was not measured.
func (w *Window) Get(m Metric, e Entity) *Series { return w.series[m][e] }

// Has tells whether the metric was measured on anything at all.
func (w *Window) Has(m Metric) bool { return len(w.series[m]) > 0 }

// Each calls f for every entity the metric was measured on, in no order.
func (w *Window) Each(m Metric, f func(Entity, *Series)) {
	for e, s := range w.series[m] {
		f(e, s)
	}
}

// Sum is the total of a counter over the window for one entity; ok is false
// when it was not measured there, which is not zero.
func (w *Window) Sum(m Metric, e Entity) (total float64, ok bool) {
	s := w.series[m][e]
	if s == nil {
		return 0, false
	}
	return s.Sum(), true
}

// Value is the newest value of a gauge for one entity.
func (w *Window) Value(m Metric, e Entity) (v float64, ok bool) {
	s := w.series[m][e]
	if s == nil || len(s.Points) == 0 {
		return 0, false
	}
	return s.Last(), true
}

// SumWhere adds up a counter over all entities that keep says yes to. ok is
// false when the metric was not measured on any entity at all.
func (w *Window) SumWhere(m Metric, keep func(Entity) bool) (total float64, ok bool) {
	for e, s := range w.series[m] {
		if keep(e) {
			total += s.Sum()
		}
	}
	return total, w.Has(m)
}

// Histogram is one histogram, nil when it was not measured.
func (w *Window) Histogram(m Metric, e Entity) *Hist { return w.histograms[m][e] }

// EachHistogram calls f for every entity with a histogram of m, in no order.
func (w *Window) EachHistogram(m Metric, f func(Entity, *Hist)) {
	for e, h := range w.histograms[m] {
		f(e, h)
	}
}

// Source is where a metric was read, "" when it was not measured. Where each
// entity has a file of its own it is the host's, or else the first by name: whose
// value is meant, its series says.
func (w *Window) Source(m Metric) string {
	if s := w.series[m][Entity{}]; s != nil {
		return s.Source
	}
	first, found := "", false
	note := func(source string) {
		if !found || source < first {
			first, found = source, true
		}
	}
	for _, s := range w.series[m] {
		note(s.Source)
	}
	for _, h := range w.histograms[m] {
		note(h.Source)
	}
	return first
}

// WhyAbsent explains a missing metric by the gaps that name it.
func (w *Window) WhyAbsent(m Metric) string {
	var why []string
	for _, g := range w.Gaps {
		for _, x := range g.Metrics {
			if x == m {
				why = append(why, g.Why)
			}
		}
	}
	if len(why) == 0 {
		return string(m) + " was not measured" + inWords(m)
	}
	return strings.Join(why, "; ")
}

// inWords is what a metric counts, in short and in brackets; "" for one that says
// which of several kinds something is.
func inWords(m Metric) string {
	for _, info := range Catalog() {
		if info.Metric != m || strings.HasPrefix(info.Help, "1 for ") {
			continue
		}
		help, _, _ := strings.Cut(info.Help, "; ")
		if short, _, found := strings.Cut(help, ", "); found && !strings.Contains(short, "(") {
			help = short
		}
		return " (" + help + ")"
	}
	return ""
}
