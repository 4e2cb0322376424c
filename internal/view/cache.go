package view

import (
	"cmp"
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// CacheSources are the sources that Cache reads.
func CacheSources() []string { return []string{"meminfo", "pagecache"} }

// CacheBy are the rows that Cache can show.
func CacheBy() []string { return []string{"process", "file", "cgroup", "device"} }

// cacheRow names a row of any kind.
type cacheRow struct {
	pid  int
	file sample.FileID
	name string
}

func cacheMetrics() []sample.Metric {
	return []sample.Metric{
		sample.CacheAccesses, sample.CacheCalls, sample.CacheMisses, sample.CacheMappedMisses, sample.CacheDemand,
		sample.CacheInserted, sample.CacheWriteAlloc, sample.CacheWasted, sample.CacheEvicted, sample.CacheReread,
		sample.CacheFaults, sample.CacheMajor, sample.CacheDirtied, sample.CacheWait,
	}
}

// Cache is the page cache's account: in total, and by process, file, cgroup
// or device. Where there is an estimate of the whole host alone, as an agent
// keeps it, it is that.
func Cache(w *sample.Window, q *Query) []table.Table {
	total := newGroup(w, func(e sample.Entity) (cacheRow, bool) {
		if q.narrow() || q.File != "" || q.Device != "" {
			// the host's own totals know no processes and files
			return cacheRow{}, e.PID != 0 && e.File.Ino != 0 && q.keep(w, e) && q.on(w, e.File)
		}
		return cacheRow{}, e == sample.Entity{} || e.PID != 0 && e.File.Ino == 0
	})
	host := newGroup(w, func(e sample.Entity) (cacheRow, bool) { return cacheRow{}, e == sample.Entity{} })
	total.add(cacheMetrics()...)
	host.add(cacheMetrics()...)
	if !q.narrow() && q.File == "" && q.Device == "" {
		for m, v := range host.rows[cacheRow{}] {
			total.rows[cacheRow{}][m] = v // not the sum of host and processes
		}
	}
	rows := newGroup(w, func(e sample.Entity) (cacheRow, bool) { return q.cacheRow(w, e) })
	rows.add(cacheMetrics()...)

	all := table.Table{Key: "total", Title: "Page cache", Columns: cacheColumns(nil)}
	all.Rows = [][]table.Cell{cacheCells(w, total.rows[cacheRow{}])}
	size, ok := w.Value(sample.MemCache, sample.Entity{})
	if ok {
		all.Title = fmt.Sprintf("Page cache: %s", table.Value(size, "bytes"))
	}
	all.Notes = append(missing(w, sample.CacheAccesses), losses(w)...)
	for _, g := range w.Gaps {
		if g.Source == "pagecache" && len(g.Metrics) == 0 {
			all.Notes = append(all.Notes, g.Why)
		}
	}

	by := table.Table{Key: "by_" + q.By, Title: "By " + q.By, Columns: cacheColumns(cacheNames(q.By))}
	keys := rows.keys(func(r map[sample.Metric]float64) float64 { return r[sample.CacheAccesses] + r[sample.CacheInserted] },
		func(a, b cacheRow) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.name, b.name)) })
	for _, k := range keys {
		if idle(rows.rows[k]) {
			continue
		}
		cells := []table.Cell{table.Str(k.name)}
		if q.By == "process" {
			cells = []table.Cell{pid(k.pid), comm(w, k.pid)}
		}
		by.Rows = append(by.Rows, append(cells, cacheCells(w, rows.rows[k])...))
	}
	if host, ok := estimate(w); ok && !w.Has(sample.CacheAccesses) && !q.narrow() && !q.byFile() {
		by.Notes = all.Notes
		return []table.Table{host, by}
	}
	return []table.Table{by, all}
}

// cacheRow is the row that a value belongs to.
func (q *Query) cacheRow(w *sample.Window, e sample.Entity) (cacheRow, bool) {
	if e.PID == 0 || e.File.Ino == 0 || !q.keep(w, e) || !q.on(w, e.File) {
		return cacheRow{}, false
	}
	switch q.By {
	case "file":
		return cacheRow{file: e.File, name: name(w, e.File)}, true
	case "cgroup":
		return cacheRow{name: orUnknown(w.Processes[e.PID].MemoryCgroup)}, true
	case "device":
		return cacheRow{name: orUnknown(w.Files[e.File].Device)}, true
	}
	return cacheRow{pid: e.PID}, true
}

// idle tells of a row that it has nothing but faults that the cache answered.
func idle(r map[sample.Metric]float64) bool {
	for m, v := range r {
		if m != sample.CacheFaults && v != 0 {
			return false
		}
	}
	return true
}

func orUnknown(s string) string { return cmp.Or(s, "(unknown)") }

// on tells whether a file is on the device that is asked for.
func (q *Query) on(w *sample.Window, id sample.FileID) bool {
	return q.Device == "" || w.Files[id].Device == q.Device
}

func cacheNames(by string) []table.Column {
	switch by {
	case "process":
		return []table.Column{{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true}}
	case "file":
		return []table.Column{{Key: "file", Head: "FILE", Flex: true, Least: 28}}
	case "cgroup":
		return []table.Column{{Key: "cgroup", Head: "MEMORY CGROUP", Flex: true, Least: 28}}
	}
	return []table.Column{{Key: "device", Head: "DEVICE", Flex: true}}
}

func cacheColumns(names []table.Column) []table.Column {
	return append(names, []table.Column{
		{Key: "hit_ratio", Head: "HIT", Unit: "ratio"},
		{Key: "read_bytes_per_s", Was: "visited_bytes_per_s", Head: "READ/s", Unit: "bytes"},
		{Key: "from_disk_bytes_per_s", Was: "cold_bytes_per_s", Head: "MISS/s", Unit: "bytes"},
		{Key: "inserted_bytes_per_s", Head: "FILLED/s", Unit: "bytes"},
		{Key: "read_amplification", Head: "AMPL", Unit: "count", Drop: 2},
		{Key: "wasted_bytes_per_s", Head: "WASTED/s", Unit: "bytes", Drop: 4},
		{Key: "evicted_bytes_per_s", Head: "EVICT/s", Unit: "bytes", Drop: 5},
		{Key: "reread_bytes_per_s", Head: "REREAD/s", Unit: "bytes", Drop: 3},
		{Key: "write_allocated_bytes_per_s", Head: "WALLOC/s", Unit: "bytes", Drop: 7},
		{Key: "dirtied_bytes_per_s", Head: "DIRTIED/s", Unit: "bytes", Drop: 8},
		{Key: "mapped_from_disk_bytes_per_s", Was: "cold_mapped_bytes_per_s", Head: "MAPPED/s", Unit: "bytes", Drop: 9},
		{Key: "major_faults_per_s", Head: "MAJOR/s", Unit: "count", Drop: 6},
		{Key: "read_calls_per_s", Head: "CALLS/s", Unit: "count", Drop: 10},
		{Key: "wait_seconds_per_s", Head: "WAIT", Unit: "ratio", Drop: 1},
	}...)
}

// cacheCells are the figures of one row, in the order of cacheColumns.
func cacheCells(w *sample.Window, r map[sample.Metric]float64) []table.Cell {
	if r == nil {
		cells := make([]table.Cell, len(cacheColumns(nil)))
		for i := range cells {
			cells[i] = table.None()
		}
		return cells
	}
	bytes := func(pages float64) table.Cell { return table.Num(pages * PageBytes / w.Seconds()) }
	rate := func(n float64) table.Cell { return table.Num(n / w.Seconds()) }
	misses, fill := r[sample.CacheMisses], r[sample.CacheInserted]-r[sample.CacheWriteAlloc]
	return []table.Cell{
		table.Maybe(figure.HitRatio(r[sample.CacheAccesses], misses)),
		bytes(r[sample.CacheAccesses]), bytes(misses), bytes(fill),
		ratio(fill, misses+r[sample.CacheMappedMisses]),
		bytes(r[sample.CacheWasted]), bytes(r[sample.CacheEvicted]), bytes(r[sample.CacheReread]),
		bytes(r[sample.CacheWriteAlloc]), bytes(r[sample.CacheDirtied]), bytes(r[sample.CacheMappedMisses]),
		rate(r[sample.CacheMajor]), rate(r[sample.CacheCalls]), rate(r[sample.CacheWait]),
	}
}
