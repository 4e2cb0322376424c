package view

import (
	"cmp"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// WritebackSources are the sources that Writeback reads.
func WritebackSources() []string {
	return []string{"meminfo", "vmstat", "sysctl", "pagecache", "writeback"}
}

// Writeback is how much is dirty, how far that is from the limits, who made it
// so, who was paused for it, and where it goes.
func Writeback(w *sample.Window, q *Query) []table.Table {
	return []table.Table{dirtyState(w), writers(w, q), written(w, q)}
}

// dirtyState lays the dirty pages beside the limits, as the kernel works them
// out: background writeback begins at the background threshold, writers are
// paused from the middle of the two thresholds on (mm/page-writeback.c,
// dirty_freerun_ceiling), and at the limit for as long as it takes.
func dirtyState(w *sample.Window) table.Table {
	t := table.Table{Key: "state", Title: "Dirty pages and limits", Whole: true, Columns: []table.Column{
		{Key: "what", Head: "WHAT"}, {Key: "bytes", Head: "NOW", Unit: "bytes"},
		{Key: "least_bytes", Head: "LEAST", Unit: "bytes"}, {Key: "most_bytes", Head: "MOST", Unit: "bytes"},
		{Key: "bytes_per_s", Head: "BYTES/s", Unit: "bytes"}, {Key: "source", Head: "FROM", Drop: 1},
	}, Notes: missing(w, sample.MemDirty, sample.VMDirtyLimit)}
	gauge := func(what string, metrics ...sample.Metric) {
		cells := []table.Cell{table.Str(what), table.None(), table.None(), table.None(), table.None(), table.None()}
		now, least, most, ok := sumOf(w, metrics...)
		if ok {
			cells[1], cells[2], cells[3], cells[5] = table.Num(now), table.Num(least), table.Num(most), table.Str(w.Source(metrics[0]))
		}
		t.Rows = append(t.Rows, cells)
	}
	gauge("dirty", sample.MemDirty)
	gauge("under writeback", sample.MemWriteback)
	gauge("background writeback from", sample.VMDirtyBg)
	limit, _, _, ok1 := sumOf(w, sample.VMDirtyLimit)
	background, _, _, ok2 := sumOf(w, sample.VMDirtyBg)
	dirty, _, mostDirty, ok3 := sumOf(w, sample.MemDirty, sample.MemWriteback)
	known := ok1 && ok2
	freerun := (limit + background) / 2
	add := func(what string, v float64, ok bool) {
		t.Rows = append(t.Rows, []table.Cell{table.Str(what), table.Maybe(v, ok), table.None(), table.None(), table.None(), table.Str("worked out")})
	}
	add("writers paused from", freerun, known)
	gauge("limit", sample.VMDirtyLimit)
	add("head-room to the first pause", freerun-dirty, known && ok3)
	add("least head-room", freerun-mostDirty, known && ok3)
	rate := func(what string, m sample.Metric) {
		v, ok := w.Sum(m, sample.Entity{})
		from := table.None()
		if ok {
			from = table.Str(w.Source(m))
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(what), table.None(), table.None(), table.None(), table.Maybe(v*PageBytes/w.Seconds(), ok), from})
	}
	rate("made dirty", sample.VMDirtied)
	rate("written out", sample.VMWritten)
	return t
}

// sumOf adds up gauges of the host: the newest, the least and the most.
func sumOf(w *sample.Window, metrics ...sample.Metric) (now, least, most float64, ok bool) {
	for i, m := range metrics {
		s := w.Get(m, sample.Entity{})
		if s == nil {
			return 0, 0, 0, false
		}
		now += s.Last()
		if i == 0 {
			least, most = s.Min(), s.Max()
			continue
		}
		first := w.Get(metrics[0], sample.Entity{})
		if len(first.Points) != len(s.Points) {
			return 0, 0, 0, false
		}
		for j, p := range s.Points {
			both := p.Value + first.Points[j].Value
			if j == 0 {
				least, most = both, both
			}
			least, most = min(least, both), max(most, both)
		}
	}
	return now, least, most, len(metrics) > 0
}

// writers is who made pages dirty, and who was paused for it.
func writers(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "writers", Title: "Writers", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true},
		{Key: "dirtied_bytes_per_s", Head: "DIRTIED/s", Unit: "bytes"},
		{Key: "paused_seconds_per_s", Head: "PAUSED", Unit: "ratio"},
		{Key: "pauses_per_s", Head: "PAUSES/s", Unit: "count"},
		{Key: "mean_pause_seconds", Head: "MEAN", Unit: "seconds"},
		{Key: "granted_bytes_per_s", Head: "GRANTED/s", Unit: "bytes", Drop: 1},
	}, Notes: append(missing(w, sample.CacheDirtied, sample.WaitDirtyPause), losses(w)...)}
	g := newGroup(w, func(e sample.Entity) (int, bool) { return e.PID, q.ofProcess(w, e) })
	g.add(sample.CacheDirtied, sample.WaitDirtyPause, sample.DirtyPauses)
	if q.byFile() {
		withPauses(w, g)
	}
	for _, k := range g.keys(func(r map[sample.Metric]float64) float64 { return r[sample.CacheDirtied] + r[sample.WaitDirtyPause] }, cmp.Compare[int]) {
		r := g.rows[k]
		if r[sample.CacheDirtied] == 0 && r[sample.DirtyPauses] == 0 && r[sample.WaitDirtyPause] == 0 {
			continue
		}
		granted, ok := w.Value(sample.WritebackRate, sample.Entity{PID: k})
		t.Rows = append(t.Rows, []table.Cell{pid(k), comm(w, k), bytesRate(w, r[sample.CacheDirtied]),
			table.Num(r[sample.WaitDirtyPause] / w.Seconds()), table.Num(r[sample.DirtyPauses] / w.Seconds()),
			ratio(r[sample.WaitDirtyPause], r[sample.DirtyPauses]), table.Maybe(granted*PageBytes, ok && r[sample.DirtyPauses] > 0)})
	}
	return t
}

// withPauses adds the pauses of processes that made pages of chosen files
// dirty: a writer is paused for all that it wrote.
func withPauses(w *sample.Window, g *group[int]) {
	for _, m := range []sample.Metric{sample.WaitDirtyPause, sample.DirtyPauses} {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if r := g.rows[e.PID]; r[sample.CacheDirtied] > 0 && e.File.Ino == 0 {
				r[m] += s.Sum()
			}
		})
	}
}

// written is what went to the devices, by cgroup and by file.
func written(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "written", Title: "Written out", Columns: []table.Column{
		{Key: "device", Head: "DEVICE"}, {Key: "kind", Head: "OF"}, {Key: "name", Head: "NAME", Flex: true},
		{Key: "bytes_per_s", Head: "BYTES/s", Unit: "bytes"}, {Key: "bytes", Head: "BYTES", Unit: "bytes"},
	}, Notes: missing(w, sample.WritebackBytes)}
	if len(q.PIDs) > 0 || q.Comm != "" {
		t.Notes = append(t.Notes, "writeback belongs to files and cgroups, not to processes: this table is not filtered")
	}
	type key struct {
		device, kind, name string
	}
	g := newGroup(w, func(e sample.Entity) (key, bool) {
		switch {
		case e.Device == "" || q.Device != "" && e.Device != q.Device:
			return key{}, false
		case e.File.Ino != 0:
			return key{e.Device, "file", name(w, e.File)}, q.file(w, e.File) && q.Cgroup == ""
		case e.Cgroup != "":
			return key{e.Device, "cgroup", e.Cgroup}, q.File == "" && (q.Cgroup == "" || inside(e.Cgroup, q.Cgroup))
		}
		return key{e.Device, "all", ""}, q.File == "" && q.Cgroup == ""
	})
	g.add(sample.WritebackBytes)
	for _, k := range g.keys(func(r map[sample.Metric]float64) float64 { return r[sample.WritebackBytes] }, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	}) {
		bytes := g.rows[k][sample.WritebackBytes]
		if bytes > 0 {
			t.Rows = append(t.Rows, []table.Cell{table.Str(k.device), table.Str(k.kind), table.Str(k.name), table.Num(bytes / w.Seconds()), table.Num(bytes)})
		}
	}
	return t
}
