package latency

import (
	"slices"
	"strings"
	"time"

	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// narrow is the same for people: the wall time, and its parts in percent.
func (full *shown) narrow(width int) table.Table {
	wide := width >= 110
	out := table.Table{Key: full.Key, Left: full.Left, Title: "System calls, and the parts of their time in %", Columns: []table.Column{
		{Key: "pid", Head: "PID", Drop: 1}, {Key: "process", Head: "PROCESS", Flex: true, Least: 8}, {Key: "syscall", Head: "CALL"}, {Key: "calls", Head: "CALLS", Unit: "count", Drop: 2},
		{Key: "wall_s", Head: "TIME", Unit: "seconds"}, {Key: "p50", Head: "P50", Unit: "seconds", Drop: 3},
		{Key: "p99", Head: "P99", Unit: "seconds"}, {Key: "max", Head: "MAX", Unit: "seconds", Drop: 4},
	}}
	groups := [][]probe.Part{{probe.PartCPU}, {probe.PartQueue, probe.PartPreempted}, {probe.PartDisk}, {probe.PartLock}, {probe.PartThrottle, probe.PartOther}}
	heads := []string{"cpu", "queue", "disk", "lock", "other"}
	if wide {
		out.Columns = slices.Insert(out.Columns, 4, table.Column{Key: "failed", Head: "FAILED", Unit: "count", Drop: 5})
		out.Columns = slices.Insert(out.Columns, 7, table.Column{Key: "p90", Head: "P90", Unit: "seconds", Drop: 6})
		groups, heads = nil, nil
		for p := probe.PartCPU; p < probe.Parts; p++ {
			groups, heads = append(groups, []probe.Part{p}), append(heads, p.Key())
		}
	}
	for _, head := range heads {
		out.Columns = append(out.Columns, table.Column{Key: head, Head: strings.TrimSuffix(head, "pted"), Unit: "count"})
	}
	for _, row := range full.Rows {
		c := full.of[&row[0]]
		quantile := func(q float64) table.Cell { return table.Num(c.Walls.QuantileOf(q, c.Count).Seconds()) }
		cells := map[string]table.Cell{
			"pid": row[0], "process": row[1], "syscall": row[2], "calls": row[3], "failed": row[4], "wall_s": table.Num(c.Wall.Seconds()),
			"p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99), "max": table.Num(c.Walls.Most().Seconds()),
		}
		var line []table.Cell
		for _, column := range out.Columns[:len(out.Columns)-len(heads)] {
			line = append(line, cells[column.Key])
		}
		for _, g := range groups {
			var d time.Duration
			for _, p := range g {
				d += c.In[p]
			}
			line = append(line, table.Percent(table.Maybe(d.Seconds()/c.Wall.Seconds(), c.Wall > 0)))
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// parts is every part that is not 0 of each call that is shown.
func (full *shown) parts() table.Table {
	out := table.Table{Key: "parts", Title: "The parts of each call", Columns: []table.Column{
		{Key: "process", Head: "PROCESS", Flex: true}, {Key: "syscall", Head: "CALL"}, {Key: "part", Head: "PART"},
		{Key: "in", Head: "IN CALLS", Unit: "count"}, {Key: "s", Head: "TIME", Unit: "seconds"}, {Key: "share", Head: "SHARE", Unit: "ratio"},
		{Key: "p50", Head: "P50", Unit: "seconds"}, {Key: "p90", Head: "P90", Unit: "seconds", Drop: 1},
		{Key: "p99", Head: "P99", Unit: "seconds"}, {Key: "max", Head: "MAX", Unit: "seconds"},
	}}
	for _, row := range full.Rows {
		c := full.of[&row[0]]
		for p := range c.In {
			n := c.Times[p].N()
			if n == 0 {
				continue
			}
			line := []table.Cell{row[1], row[2], table.Str(probe.Part(p).Key()), table.Num(float64(n))}
			cells := lengthCells(c.In[p], c.Times[p], c.Count)
			line = append(line, cells[0], table.Maybe(c.In[p].Seconds()/c.Wall.Seconds(), c.Wall > 0))
			out.Rows = append(out.Rows, append(line, cells[1:]...))
		}
	}
	return out
}
