// Package view makes tables of a window: one file for each question. Views
// are pure: what is live and what is played back look the same.
package view

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Query narrows what is shown. Empty fields narrow nothing.
type Query struct {
	PIDs   []int
	Comm   string
	Cgroup string // and all below it
	Device string
	File   string   // a path, all below it, or a pattern as in path.Match of the last element
	Also   []string // other names of that, as host.OtherNames has them
	By     string   // what the rows are
}

// process tells whether a process is asked for.
func (q *Query) process(w *sample.Window, pid int) bool {
	p := w.Processes[pid]
	switch {
	case len(q.PIDs) > 0 && !slices.Contains(q.PIDs, pid):
		return false
	case q.Comm != "" && p.Comm != q.Comm:
		return false
	case q.Cgroup != "" && !inside(p.IOCgroup, q.Cgroup) && !inside(p.MemoryCgroup, q.Cgroup):
		return false
	}
	return true
}

// file tells whether a file is asked for.
func (q *Query) file(w *sample.Window, id sample.FileID) bool {
	if q.File == "" {
		return true
	}
	return Named(w.Files[id].Path, q.File, q.Also...)
}

// Named tells whether a path is the wanted one, lies below it or one of its other
// names, or ends in a name that the wanted pattern fits.
func Named(name, wanted string, also ...string) bool {
	if inside(name, wanted) || slices.ContainsFunc(also, func(other string) bool { return inside(name, other) }) {
		return true
	}
	ok, err := path.Match(wanted, path.Base(name))
	return ok && err == nil
}

// narrow tells whether processes are chosen at all.
func (q *Query) narrow() bool { return len(q.PIDs) > 0 || q.Comm != "" || q.Cgroup != "" }

// byFile tells whether files are chosen at all.
func (q *Query) byFile() bool { return q.File != "" || q.Device != "" }

// ofProcess tells whether a value is one of those that make a row for each
// process: the process's own, or, where files are chosen, its values of them.
func (q *Query) ofProcess(w *sample.Window, e sample.Entity) bool {
	if e.PID == 0 || q.narrow() && !q.process(w, e.PID) {
		return false
	}
	if !q.byFile() {
		return e.File.Ino == 0
	}
	return e.File.Ino != 0 && q.file(w, e.File) && q.on(w, e.File)
}

// keep tells whether a value's entity is asked for.
func (q *Query) keep(w *sample.Window, e sample.Entity) bool {
	return (q.Device == "" || e.Device == "" || e.Device == q.Device) &&
		(!q.narrow() || q.process(w, e.PID)) && q.file(w, e.File)
}

// inside tells whether a path is top or lies below it.
func inside(name, top string) bool {
	return name == top || strings.HasPrefix(name, strings.TrimSuffix(top, "/")+"/")
}

// pid and comm are the cells of a process.
func pid(id int) table.Cell {
	if id == 0 {
		return table.None()
	}
	return table.Str(strconv.Itoa(id))
}

func comm(w *sample.Window, id int) table.Cell {
	if c := w.Processes[id].Comm; c != "" {
		return table.Str(c)
	}
	return table.None()
}

// name is what a file is called, or its number where no name is known.
func name(w *sample.Window, id sample.FileID) string {
	f := w.Files[id]
	switch {
	case f.Path == "" && id.Ino == 0:
		return ""
	case f.Path == "":
		return "inode " + strconv.FormatUint(id.Ino, 10) + " of device " + figure.FileSystem(id)
	}
	return f.Path
}

// group adds up a metric over the entities that key puts together; ok is
// false for those that are not asked for.
type group[K comparable] struct {
	w    *sample.Window
	key  func(sample.Entity) (k K, ok bool)
	rows map[K]map[sample.Metric]float64
}

func newGroup[K comparable](w *sample.Window, key func(sample.Entity) (K, bool)) *group[K] {
	return &group[K]{w: w, key: key, rows: map[K]map[sample.Metric]float64{}}
}

// add adds the window's increase of metrics.
func (g *group[K]) add(metrics ...sample.Metric) {
	for _, m := range metrics {
		g.w.Each(m, func(e sample.Entity, s *sample.Series) {
			k, ok := g.key(e)
			if !ok {
				return
			}
			if g.rows[k] == nil {
				g.rows[k] = map[sample.Metric]float64{}
			}
			g.rows[k][m] += s.Sum()
		})
	}
}

// keys are the rows in an order that does not change: largest first.
func (g *group[K]) keys(weight func(map[sample.Metric]float64) float64, less func(a, b K) int) []K {
	keys := slices.Collect(maps.Keys(g.rows))
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(weight(g.rows[b]), weight(g.rows[a])), less(a, b))
	})
	return keys
}

// ratio is a share, or nothing where there is nothing to have a share of.
func ratio(part, whole float64) table.Cell {
	if whole <= 0 {
		return table.None()
	}
	return table.Num(part / whole)
}

// missing are notes on metrics that a view would need and the window lacks.
func missing(w *sample.Window, metrics ...sample.Metric) []string {
	var notes []string
	for _, m := range metrics {
		if w.Has(m) {
			continue
		}
		if why := w.WhyAbsent(m); !slices.Contains(notes, why) {
			notes = append(notes, why)
		}
	}
	return notes
}

// losses are notes on what the probes could not keep.
func losses(w *sample.Window) []string {
	var notes []string
	for _, l := range figure.Losses(w) {
		notes = append(notes, l.Text)
	}
	return notes
}

// PageBytes is how large the pages are that the probes count in.
const PageBytes = 4096
