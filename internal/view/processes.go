package view

import (
	"cmp"
	"slices"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// ProcessesSources are the sources that Processes cannot do without. What the
// kernel programs of WaitingSources tell it shows where they are loaded.
func ProcessesSources() []string { return []string{"pid"} }

// processRow is what a process did in the window.
type processRow struct {
	pid                           int
	cpu, delay                    float64 // seconds
	read, written                 float64 // bytes from and for block devices
	faults                        float64
	rss                           float64
	hasCPU, hasDelay, hasIO, hasF bool
}

// Processes is what every process does and what holds it up. Kernel threads
// that did nothing are left out.
func Processes(w *sample.Window, q *Query) []table.Table {
	t := table.Table{Key: "processes", Title: "Processes", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true, Least: 8},
		{Key: "blocked_share", Head: "BLOCKED", Unit: "ratio"}, {Key: "why", Head: "WHY", Flex: true, Least: 6},
		{Key: "cpu_share", Head: "CPU", Unit: "ratio"},
		{Key: "read_bytes_per_s", Head: "READ/s", Unit: "bytes"}, {Key: "written_bytes_per_s", Head: "WRITE/s", Unit: "bytes"},
		{Key: "file", Head: "FILE", Flex: true, Least: 16, Drop: 6},
		{Key: "run_delay_share", Head: "RUNQ", Unit: "ratio", Drop: 7},
		{Key: "major_faults_per_s", Head: "FAULTS/s", Unit: "count", Drop: 8},
		{Key: "rss_bytes", Head: "RSS", Unit: "bytes", Drop: 9},
		{Key: "cgroup", Head: "CGROUP", Flex: true, Least: 16, Drop: 10},
	}, Notes: append(missing(w, sample.ProcUser), losses(w)...)}
	waits, measured := heldUp(w)
	if !measured {
		t.Notes = append(t.Notes, missing(w, sample.WaitIO)...)
	}
	files := waitedFor(w)
	rows := processRows(w, q)
	for _, r := range rows {
		h := waits[r.pid]
		if h == nil {
			h = &held{}
		}
		p := w.Processes[r.pid]
		if p.Kernel && h.total == 0 && r.cpu+r.read+r.written == 0 {
			continue
		}
		why, file := table.None(), table.None()
		if what := h.longest(); what != "" {
			why = table.Str(what)
		}
		if id, ok := files[r.pid]; ok {
			file = table.Str(name(w, id))
		}
		cgroup := table.None()
		if c := p.Cgroup(); c != "" {
			cgroup = table.Str(c)
		}
		if r.rss > 0 && w.Has(sample.ProcUser) { // what only holds memory is told of because of that alone
			r.hasCPU = true
		}
		rate := func(v float64, ok bool) table.Cell { return table.Maybe(v/w.Seconds(), ok) }
		t.Rows = append(t.Rows, []table.Cell{pid(r.pid), comm(w, r.pid), rate(h.total, measured), why, rate(r.cpu, r.hasCPU),
			rate(r.read, r.hasIO), rate(r.written, r.hasIO), file, rate(r.delay, r.hasDelay), rate(r.faults, r.hasF),
			table.Maybe(r.rss, r.rss > 0), cgroup})
	}
	slices.SortStableFunc(t.Rows, func(a, b []table.Cell) int {
		return cmp.Or(cmp.Compare(b[2].Number, a[2].Number), cmp.Compare(b[5].Number+b[6].Number, a[5].Number+a[6].Number),
			cmp.Compare(b[4].Number, a[4].Number))
	})
	return []table.Table{t}
}

// processRows are the processes that are asked for, in the order of their
// numbers.
func processRows(w *sample.Window, q *Query) []*processRow {
	by := map[int]*processRow{}
	each := func(m sample.Metric, put func(*processRow, *sample.Series)) {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID == 0 || e.File.Ino != 0 || len(s.Points) == 0 {
				return
			}
			r := by[e.PID]
			if r == nil {
				if q.narrow() && !q.process(w, e.PID) {
					return
				}
				r = &processRow{pid: e.PID}
				by[e.PID] = r
			}
			put(r, s)
		})
	}
	each(sample.ProcUser, func(r *processRow, s *sample.Series) { r.cpu, r.hasCPU = r.cpu+s.Sum(), true })
	each(sample.ProcSystem, func(r *processRow, s *sample.Series) { r.cpu, r.hasCPU = r.cpu+s.Sum(), true })
	each(sample.ProcRunDelay, func(r *processRow, s *sample.Series) { r.delay, r.hasDelay = s.Sum(), true })
	each(sample.ProcReadBytes, func(r *processRow, s *sample.Series) { r.read, r.hasIO = s.Sum(), true })
	each(sample.ProcWriteBytes, func(r *processRow, s *sample.Series) { r.written, r.hasIO = s.Sum(), true })
	each(sample.ProcMajorFault, func(r *processRow, s *sample.Series) { r.faults, r.hasF = s.Sum(), true })
	each(sample.ProcRSS, func(r *processRow, s *sample.Series) { r.rss = s.Last() })
	each(sample.WaitIO, func(*processRow, *sample.Series) {}) // who waited and is gone
	rows := make([]*processRow, 0, len(by))
	for _, r := range by {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *processRow) int { return cmp.Compare(a.pid, b.pid) })
	return rows
}
