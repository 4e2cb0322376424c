package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Top adds up what processes and cgroups did, over windows that may lie apart.
// A process is its number and its start, so that one whose number is given to
// another is not taken for that.
type Top struct {
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

// NewTop has no window yet.
func NewTop() *Top {
	return &Top{processes: map[topProcess]*topRow{}, cgroups: map[string]*topRow{}, has: map[sample.Metric]bool{},
		absent: map[sample.Metric]string{}, gaps: map[string]string{}}
}

// Add adds a window.
func (t *Top) Add(w *sample.Window) {
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
			if r := t.row(w, e); r != nil {
				r.sums[m] += s.Sum()
			}
		})
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
func (t *Top) row(w *sample.Window, e sample.Entity) *topRow {
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

// Span is when the first window begins and the last one ends.
func (t *Top) Span() (from, to time.Time) { return t.from, t.to }

// Tables are those of the processes and of the cgroups, most bytes first.
func (t *Top) Tables() []table.Table { return []table.Table{t.processTable(), t.cgroupTable()} }

func (t *Top) processTable() table.Table {
	out := table.Table{Key: "processes", Title: "Processes", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true},
		{Key: "read_bytes", Head: "READ", Unit: "bytes"}, {Key: "write_bytes", Head: "WRITTEN", Unit: "bytes"},
		{Key: "cpu_seconds", Head: "CPU", Unit: "seconds"}, {Key: "waited_seconds", Head: "WAITED", Unit: "seconds"},
		{Key: "cgroup", Head: "CGROUP", Flex: true},
		{Key: "read_calls_bytes", Head: "CALLS.R", Unit: "bytes", Drop: 2}, {Key: "write_calls_bytes", Head: "CALLS.W", Unit: "bytes", Drop: 2},
		{Key: "start_seconds", Head: "STARTED", Unit: "seconds", Drop: 1},
	}, Notes: t.notes(sample.ProcReadBytes, sample.ProcBlkioDelay)}
	keys := slices.SortedFunc(maps.Keys(t.processes), func(a, b topProcess) int {
		x, y := t.processes[a], t.processes[b]
		return cmp.Or(cmp.Compare(y.of(sample.ProcReadBytes, sample.ProcWriteBytes), x.of(sample.ProcReadBytes, sample.ProcWriteBytes)),
			cmp.Compare(y.of(sample.ProcBlkioDelay), x.of(sample.ProcBlkioDelay)),
			cmp.Compare(y.of(sample.ProcUser, sample.ProcSystem), x.of(sample.ProcUser, sample.ProcSystem)),
			cmp.Compare(a.pid, b.pid), cmp.Compare(a.start, b.start))
	})
	for _, k := range keys {
		r := t.processes[k]
		cgroup := table.None()
		if c := r.process.Cgroup(); c != "" {
			cgroup = table.Str(c)
		}
		comm := table.None()
		if r.process.Comm != "" {
			comm = table.Str(r.process.Comm)
		}
		out.Rows = append(out.Rows, []table.Cell{table.Str(strconv.Itoa(k.pid)), comm, r.cell(sample.ProcReadBytes), r.cell(sample.ProcWriteBytes),
			r.cell(sample.ProcUser, sample.ProcSystem), r.cell(sample.ProcBlkioDelay), cgroup,
			r.cell(sample.ProcReadChars), r.cell(sample.ProcWriteChars), table.Num(k.start.Seconds())})
	}
	return out
}

func (t *Top) cgroupTable() table.Table {
	out := table.Table{Key: "cgroups", Title: "Cgroups", Columns: []table.Column{
		{Key: "cgroup", Head: "CGROUP", Flex: true, Least: 30},
		{Key: "read_bytes", Head: "READ", Unit: "bytes"}, {Key: "write_bytes", Head: "WRITTEN", Unit: "bytes"},
		{Key: "reads", Head: "READS", Unit: "count"}, {Key: "writes", Head: "WRITES", Unit: "count"},
	}, Notes: t.notes(sample.CgroupReadBytes)}
	keys := slices.SortedFunc(maps.Keys(t.cgroups), func(a, b string) int {
		x, y := t.cgroups[a], t.cgroups[b]
		return cmp.Or(cmp.Compare(y.of(sample.CgroupReadBytes, sample.CgroupWriteBytes), x.of(sample.CgroupReadBytes, sample.CgroupWriteBytes)), cmp.Compare(a, b))
	})
	for _, k := range keys {
		r := t.cgroups[k]
		if r.of(sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites) == 0 {
			continue // it only has a limit
		}
		out.Rows = append(out.Rows, []table.Cell{table.Str(k), r.cell(sample.CgroupReadBytes), r.cell(sample.CgroupWriteBytes),
			r.cell(sample.CgroupReads), r.cell(sample.CgroupWrites)})
	}
	return out
}

// notes say why metrics are missing, in all windows or in part of them. That
// nothing did any I/O is none.
func (t *Top) notes(metrics ...sample.Metric) []string {
	var notes []string
	for _, m := range metrics {
		if why := t.absent[m]; why != "" && !t.has[m] && m != sample.CgroupReadBytes && len(t.processes) > 0 && !slices.Contains(notes, why) {
			notes = append(notes, why)
		}
	}
	for _, shape := range slices.Sorted(maps.Keys(t.gaps)) {
		why := t.gaps[shape]
		if isOf := strings.Contains(why, "cgroup"); isOf == (metrics[0] == sample.CgroupReadBytes) && !slices.Contains(notes, why) {
			notes = append(notes, why)
		}
	}
	if covered := t.to.Sub(t.from); t.length > 0 && float64(t.length) < 0.95*float64(covered) {
		notes = append(notes, fmt.Sprintf("what was kept covers %s of these %s", table.Duration(t.length.Seconds()), table.Duration(covered.Seconds())))
	}
	return notes
}

func (r *topRow) of(metrics ...sample.Metric) float64 {
	sum := 0.0
	for _, m := range metrics {
		sum += r.sums[m]
	}
	return sum
}

// cell is a sum, or nothing where none of it was measured.
func (r *topRow) cell(metrics ...sample.Metric) table.Cell {
	some := slices.ContainsFunc(metrics, func(m sample.Metric) bool { _, ok := r.sums[m]; return ok })
	return table.Maybe(r.of(metrics...), some)
}
