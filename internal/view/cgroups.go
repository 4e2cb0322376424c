package view

import (
	"cmp"
	"maps"
	"slices"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// CgroupsSources are the sources that Cgroups cannot do without.
func CgroupsSources() []string { return []string{"cgroup", "pid"} }

// Cgroups is what every cgroup has, does and waits for. What the processes of
// a cgroup wait for is theirs alone, not that of cgroups below it; memory and
// I/O are what the kernel charges to it.
func Cgroups(w *sample.Window, q *Query) []table.Table {
	t := table.Table{Key: "cgroups", Title: "Cgroups", Columns: []table.Column{
		{Key: "cgroup", Head: "CGROUP", Flex: true, Least: 20},
		{Key: "blocked_share", Head: "BLOCKED", Unit: "ratio"},
		{Key: "memory_bytes", Head: "MEMORY", Unit: "bytes"}, {Key: "memory_limit_bytes", Head: "LIMIT", Unit: "bytes"},
		{Key: "cache_bytes", Head: "CACHE", Unit: "bytes", Drop: 1},
		{Key: "refault_bytes_per_s", Head: "REFAULT/s", Unit: "bytes"},
		{Key: "limit_hits_per_s", Head: "HITS/s", Unit: "count", Drop: 4},
		{Key: "read_bytes_per_s", Head: "READ/s", Unit: "bytes"}, {Key: "written_bytes_per_s", Head: "WRITE/s", Unit: "bytes"},
		{Key: "reads_per_s", Head: "r/s", Unit: "count", Drop: 5}, {Key: "writes_per_s", Head: "w/s", Unit: "count", Drop: 5},
		{Key: "processes", Head: "PROCS", Unit: "count", Drop: 2},
		{Key: "cpu_held_share", Head: "CPU HELD", Unit: "ratio", Drop: 3},
		{Key: "container", Data: true}, {Key: "pod", Data: true}, {Key: "unit", Data: true},
	}, Notes: missing(w, sample.CgroupMemUsage, sample.CgroupReadBytes)}
	sums := newGroup(w, func(e sample.Entity) (string, bool) {
		return e.Cgroup, e.Cgroup != "" && (q.Cgroup == "" || inside(e.Cgroup, q.Cgroup)) && (q.Device == "" || e.Device == "" || e.Device == q.Device)
	})
	sums.add(sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites, sample.CgroupRefault,
		sample.CgroupLimitHits, sample.CgroupCPUHeld)
	if q.Device == "" {
		for _, m := range []sample.Metric{sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites} {
			for c, sum := range figure.CgroupIO(w, m) {
				if sums.rows[c] != nil { // else it was not asked for
					sums.rows[c][m] = sum
				}
			}
		}
	}
	all := map[string]bool{}
	for c := range sums.rows {
		all[c] = true
	}
	for _, m := range []sample.Metric{sample.CgroupMemUsage, sample.CgroupMemLimit} {
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if q.Cgroup == "" || inside(e.Cgroup, q.Cgroup) {
				all[e.Cgroup] = true
			}
		})
	}
	waits, measured := heldUp(w)
	blocked, processes := map[string]float64{}, map[string]float64{}
	w.Each(sample.ProcUser, func(e sample.Entity, _ *sample.Series) { processes[w.Processes[e.PID].Cgroup()]++ })
	for pid, h := range waits {
		blocked[w.Processes[pid].Cgroup()] += h.total
	}
	for _, c := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		x, y := sums.rows[a], sums.rows[b]
		return cmp.Or(cmp.Compare(blocked[b], blocked[a]),
			cmp.Compare(y[sample.CgroupReadBytes]+y[sample.CgroupWriteBytes], x[sample.CgroupReadBytes]+x[sample.CgroupWriteBytes]), cmp.Compare(a, b))
	}) {
		r := sums.rows[c]
		e, id := sample.Entity{Cgroup: c}, sample.IdentityOf(c)
		rate := func(m sample.Metric, unit float64) table.Cell {
			v, ok := r[m]
			return table.Maybe(v*unit/w.Seconds(), ok)
		}
		usage, ok1 := w.Value(sample.CgroupMemUsage, e)
		limit, ok2 := figure.MemoryLimit(w, c)
		cache, ok3 := w.Value(sample.CgroupMemFile, e)
		t.Rows = append(t.Rows, []table.Cell{table.Str(c), table.Maybe(blocked[c]/w.Seconds(), measured), table.Maybe(usage, ok1), table.Maybe(limit, ok2),
			table.Maybe(cache, ok3), rate(sample.CgroupRefault, PageBytes), rate(sample.CgroupLimitHits, 1),
			rate(sample.CgroupReadBytes, 1), rate(sample.CgroupWriteBytes, 1), rate(sample.CgroupReads, 1), rate(sample.CgroupWrites, 1),
			table.Num(processes[c]), rate(sample.CgroupCPUHeld, 1), known(id.Container), known(id.Pod), known(id.Unit)})
	}
	return []table.Table{t}
}

// known is a text that may be absent.
func known(s string) table.Cell {
	if s == "" {
		return table.None()
	}
	return table.Str(s)
}
