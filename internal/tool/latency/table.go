package latency

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// Layout is how the tables are wanted.
type Layout struct {
	Sort  string // by this column of Columns
	Top   int    // rows, 0 for all
	Width int    // of the terminal; 0: all columns, for programs
	Parts bool   // for people: a table of the parts of each call, too
	Slow  bool   // the slowest calls, with their stacks
}

// shown is a table whose rows know which calls they are.
type shown struct {
	table.Table
	of map[*table.Cell]*probe.Call // by their first cell
}

// Tables are the calls. Stacks that are shown get their names now.
func (c *Calls) Tables(l *Layout) ([]table.Table, error) {
	full := c.full()
	if err := full.Sort(l.Sort); err != nil {
		return nil, err
	}
	full.Top(l.Top)
	out := []table.Table{full.Table}
	notes := slices.Clone(c.Notes)
	if l.Width > 0 {
		out[0] = full.narrow(l.Width)
		if l.Parts {
			out = append(out, full.parts())
		}
	}
	if l.Slow {
		slow := c.slowest(full)
		switch {
		case l.Width == 0:
			out = append(out, slowTable(slow))
		case len(slow) > 0:
			out = append(out, slowText(slow, l.Top))
			notes = append(notes, c.stackNotes()...)
		}
	}
	out[0].Notes = notes
	return out, nil
}

// quantiles are those that are shown.
func quantiles() map[string]float64 { return map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99} }

// Columns are those for programs.
func Columns() []table.Column {
	columns := []table.Column{
		{Key: "pid"}, {Key: "process"}, {Key: "syscall"}, {Key: "calls", Unit: "count"}, {Key: "failed", Unit: "count"},
	}
	kinds := []string{"wall"}
	for p := probe.PartCPU; p < probe.Parts; p++ {
		kinds = append(kinds, p.Key())
	}
	for _, kind := range kinds {
		columns = append(columns, table.Column{Key: kind + "_s", Unit: "seconds"})
		for _, q := range slices.Sorted(maps.Keys(quantiles())) {
			columns = append(columns, table.Column{Key: kind + "_" + q + "_s", Unit: "seconds"})
		}
		columns = append(columns, table.Column{Key: kind + "_max_s", Unit: "seconds"})
	}
	return columns
}

// full is the table with every figure.
func (c *Calls) full() *shown {
	t := &shown{Table: table.Table{Key: "calls", Columns: Columns()}, of: map[*table.Cell]*probe.Call{}}
	calls := make([]*probe.Call, len(c.Calls))
	for i := range c.Calls {
		calls[i] = &c.Calls[i]
	}
	slices.SortFunc(calls, func(a, b *probe.Call) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Number, b.Number))
	})
	for _, of := range calls {
		cells := []table.Cell{table.Str(fmt.Sprint(of.PID)), table.Str(string(of.Process)), table.Str(of.Name), table.Num(float64(of.Count)), table.Num(float64(of.Failed))}
		cells = append(cells, lengthCells(of.Wall, of.Walls, of.Count)...)
		for p := range of.In {
			cells = append(cells, lengthCells(of.In[p], of.Times[p], of.Count)...)
		}
		t.Rows = append(t.Rows, cells)
		t.of[&cells[0]] = of
	}
	return t
}

// lengthCells are a sum, percentiles and the longest.
func lengthCells(sum time.Duration, l *sample.Times, n uint64) []table.Cell {
	cells := []table.Cell{table.Num(sum.Seconds())}
	all := quantiles()
	for _, q := range slices.Sorted(maps.Keys(all)) {
		cells = append(cells, table.Num(l.QuantileOf(all[q], n).Seconds()))
	}
	return append(cells, table.Num(l.Most().Seconds()))
}
