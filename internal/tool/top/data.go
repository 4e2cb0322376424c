// Package top finds the processes and cgroups that did most I/O in a time that
// was recorded.
package top

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Busiest adds up what processes and cgroups did, over windows that may lie apart.
// A process is its number and its start, so that one whose number is given to
// another is not taken for that.
type Busiest struct {
	processes map[topProcess]*topRow
	cgroups   map[string]*topRow
	from, to  time.Time
	length    time.Duration
	has       map[sample.Metric]bool
	absent    map[sample.Metric]string
	gaps      map[string]string // by what they say but for numbers
}

type topProcess struct {
	pid   int
	start time.Duration // since boot
}

// topRow is what one of them did. Metrics that were not measured are missing.
type topRow struct {
	sums    map[sample.Metric]float64
	process sample.Process
}

// topFigures are the metrics that Top adds up.
func topFigures() []sample.Metric {
	return []sample.Metric{
		sample.ProcReadBytes, sample.ProcWriteBytes, sample.ProcReadChars, sample.ProcWriteChars,
		sample.ProcUser, sample.ProcSystem, sample.ProcBlkioDelay,
		sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites,
	}
}

// New has no window yet.
func New() *Busiest {
	return &Busiest{processes: map[topProcess]*topRow{}, cgroups: map[string]*topRow{}, has: map[sample.Metric]bool{},
		absent: map[sample.Metric]string{}, gaps: map[string]string{}}
}

// Add adds a window.
func (t *Busiest) Add(w *sample.Window) {
	if t.from.IsZero() || w.Start.Before(t.from) {
		t.from = w.Start
	}
	if end := w.Start.Add(w.Length); end.After(t.to) {
		t.to = end
	}
	t.length += w.Length
	for _, m := range topFigures() {
		if !w.Has(m) {
			t.absent[m] = w.WhyAbsent(m)
			continue
		}
		t.has[m] = true
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if r := t.row(w, e); r != nil && e.PID != 0 {
				r.sums[m] += s.Sum()
			}
		})
		for c, sum := range figure.CgroupIO(w, m) {
			t.row(w, sample.Entity{Cgroup: c}).sums[m] += sum
		}
	}
	for _, g := range w.Gaps {
		if slices.ContainsFunc(g.Metrics, func(m sample.Metric) bool { return m == sample.ProcReadBytes || m == sample.CgroupReadBytes }) {
			t.gaps[strings.Map(func(r rune) rune {
				if unicode.IsDigit(r) {
					return -1
				}
				return r
			}, g.Why)] = g.Why
		}
	}
}

// row is that of a value, nil for what has none.
func (t *Busiest) row(w *sample.Window, e sample.Entity) *topRow {
	switch {
	case e.File != (sample.FileID{}):
	case e.PID != 0:
		p := w.Processes[e.PID]
		k := topProcess{e.PID, p.Start}
		if t.processes[k] == nil {
			t.processes[k] = &topRow{sums: map[sample.Metric]float64{}}
		}
		t.processes[k].process = p // it may have given itself another name
		return t.processes[k]
	case e.Cgroup != "":
		if t.cgroups[e.Cgroup] == nil {
			t.cgroups[e.Cgroup] = &topRow{sums: map[sample.Metric]float64{}}
		}
		return t.cgroups[e.Cgroup]
	}
	return nil
}

// Interval is when the first window begins and the last one ends.
func (t *Busiest) Interval() (from, to time.Time) { return t.from, t.to }
