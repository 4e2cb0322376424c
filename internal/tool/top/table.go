package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Tables are those of the processes and of the cgroups, most bytes first.
func (t *Busiest) Tables() []table.Table { return []table.Table{t.processTable(), t.cgroupTable()} }

func (t *Busiest) processTable() table.Table {
	out := table.Table{Key: "processes", Title: "Processes", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true},
		{Key: "read_bytes", Head: "READ", Unit: "bytes"}, {Key: "write_bytes", Head: "WRITTEN", Unit: "bytes"},
		{Key: "cpu_seconds", Head: "CPU", Unit: "seconds"}, {Key: "waited_seconds", Head: "WAITED", Unit: "seconds"},
		{Key: "cgroup", Head: "CGROUP", Flex: true},
		{Key: "read_calls_bytes", Head: "CALLS.R", Unit: "bytes", Drop: 2}, {Key: "write_calls_bytes", Head: "CALLS.W", Unit: "bytes", Drop: 2},
		{Key: "start_seconds", Head: "AFTER BOOT", Unit: "seconds", Drop: 1},
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

func (t *Busiest) cgroupTable() table.Table {
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
func (t *Busiest) notes(metrics ...sample.Metric) []string {
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
		notes = append(notes, fmt.Sprintf("the history covers %s of these %s", table.Duration(t.length.Seconds()), table.Duration(covered.Seconds())))
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
