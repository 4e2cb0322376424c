package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// stalledCgroups is how long the threads of each cgroup waited for a processor,
// for memory and for I/O, which cgroups of version 2 account. Those that did not
// wait have no row.
func stalledCgroups(w *sample.Window) table.Table {
	t := table.Table{Key: "cgroups", Title: "Cgroups whose threads waited: shares of time", Columns: []table.Column{{Key: "cgroup", Head: "CGROUP", Flex: true, Least: 20}}}
	type kind struct {
		metric sample.Metric
		class  string
	}
	var kinds []kind
	for _, class := range []struct{ name, head string }{{"cpu", "CPU"}, {"memory", "MEM"}, {"io", "I/O"}} {
		for _, k := range []struct {
			metric    sample.Metric
			key, head string
		}{{sample.CgroupPSISome, "some", "SOME"}, {sample.CgroupPSIFull, "full", "FULL"}} {
			kinds = append(kinds, kind{k.metric, class.name})
			t.Columns = append(t.Columns, table.Column{Key: class.name + "_pressure_" + k.key, Head: class.head + " " + k.head, Unit: "ratio"})
		}
	}
	waited := map[string]float64{} // seconds in which some thread waited, for all three
	calm := 0
	w.Each(sample.CgroupPSISome, func(e sample.Entity, s *sample.Series) { waited[e.Cgroup] += s.Sum() })
	for _, c := range slices.SortedFunc(maps.Keys(waited), func(a, b string) int { return cmp.Or(cmp.Compare(waited[b], waited[a]), cmp.Compare(a, b)) }) {
		if waited[c] == 0 {
			calm++
			continue
		}
		row := []table.Cell{table.Str(c)}
		for _, k := range kinds {
			v, ok := w.Sum(k.metric, sample.Entity{Cgroup: c, Class: k.class})
			row = append(row, table.Maybe(v/w.Seconds(), ok))
		}
		t.Rows = append(t.Rows, row)
	}
	if calm > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s waited for nothing", sample.Counted(calm, "cgroup")))
	}
	return t
}
