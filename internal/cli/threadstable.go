package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// stateGroup is one column of states in a terminal.
type stateGroup struct {
	head   string
	letter byte // in the bar
	states []threads.State
}

// left is the head of the column of what no state accounts for.
const left = "left"

// groupsOf are the columns for a width.
func groupsOf(width int) []stateGroup {
	if width < wideThreads {
		return []stateGroup{
			{"cpu", 'C', []threads.State{threads.Run}},
			{"queue", 'q', []threads.State{threads.Runnable, threads.Preempted}},
			{"disk", 'D', []threads.State{threads.Disk, threads.FileSystem, threads.FaultDisk}},
			{"mem", 'M', []threads.State{threads.ReclaimRun, threads.Reclaim, threads.Fault, threads.DirtyPause}},
			{"klock", 'K', []threads.State{threads.MmapLock, threads.KernelLock}},
			{"futex", 'F', []threads.State{threads.Mutex, threads.Futex}},
			{"net", 'N', []threads.State{threads.Network, threads.IPC}},
			{"idle", '.', []threads.State{threads.Idle}},
			{"other", 'o', []threads.State{threads.Stopped, threads.Other}},
		}
	}
	return []stateGroup{
		{"cpu", 'C', []threads.State{threads.Run}},
		{"woken", 'q', []threads.State{threads.Runnable}},
		{"preem", 'p', []threads.State{threads.Preempted}},
		{"disk", 'D', []threads.State{threads.Disk}},
		{"fs", 'J', []threads.State{threads.FileSystem}},
		{"fdisk", 'd', []threads.State{threads.FaultDisk}},
		{"fault", 'f', []threads.State{threads.Fault}},
		{"dirty", 'W', []threads.State{threads.DirtyPause}},
		{"recl", 'R', []threads.State{threads.ReclaimRun, threads.Reclaim}},
		{"mmapl", 'M', []threads.State{threads.MmapLock}},
		{"klock", 'K', []threads.State{threads.KernelLock}},
		{"mutex", 'L', []threads.State{threads.Mutex}},
		{"futex", 'F', []threads.State{threads.Futex}},
		{"net", 'N', []threads.State{threads.Network}},
		{"ipc", 'P', []threads.State{threads.IPC}},
		{"idle", '.', []threads.State{threads.Idle}},
		{"stop", 's', []threads.State{threads.Stopped}},
		{"other", 'o', []threads.State{threads.Other}},
	}
}

// Widths from which each state has a column, and from which there is a bar.
const (
	wideThreads = 160
	barThreads  = 110
)

// tables are what is shown of the rows.
func (s *threadShares) tables(rows *threadRows, length time.Duration, waits *waitsByState) []table.Table {
	full := s.full(rows, length)
	// The order is that of the full table, whichever columns are shown.
	_ = full.Sort(s.o.sort) // checkSort has found the column
	full.Top(s.o.top)
	shown := full
	if s.o.format == "text" {
		shown = s.narrow(full)
	}
	shown.Notes = s.notes
	s.notes = nil
	if len(rows.rows) == 0 {
		shown.Notes = append(shown.Notes, "no such thread was met")
	}
	out := []table.Table{shown.Table}
	if s.o.histogram {
		out = append(out, waits.table())
	}
	return out
}

// ranked is a table whose rows know what they were made of.
type ranked struct {
	table.Table
	of map[*table.Cell]*threadRow // by their first cell
}

// names are the columns that name a row.
func (s *threadShares) names() []table.Column {
	switch s.o.by {
	case "thread":
		return []table.Column{
			{Key: "tid", Head: "TID"}, {Key: "comm", Head: "COMM"}, {Key: "pid", Head: "PID"},
			{Key: "process", Head: "PROCESS"}, {Key: "cgroup", Head: "CGROUP"}, {Key: "ended", Head: "ENDED"},
		}
	case "process":
		return []table.Column{{Key: "pid", Head: "PID"}, {Key: "process", Head: "PROCESS"}, {Key: "cgroup", Head: "CGROUP"}}
	case "comm":
		return []table.Column{{Key: "process", Head: "PROCESS"}}
	}
	return []table.Column{{Key: "cgroup", Head: "CGROUP"}}
}

func (s *threadShares) nameCells(row *threadRow) []table.Cell {
	u := &row.usage
	ended := "no"
	if row.ended > 0 {
		ended = "yes"
	}
	cells := map[string]table.Cell{
		"tid": table.Str(fmt.Sprint(u.TID)), "pid": table.Str(fmt.Sprint(u.PID)), "comm": table.Str(u.Comm),
		"process": table.Str(u.Process), "cgroup": table.Str(row.cgroupName()), "ended": table.Str(ended),
	}
	var out []table.Cell
	for _, c := range s.names() {
		out = append(out, cells[c.Key])
	}
	return out
}

// fullColumns are the columns for programs.
func (s *threadShares) fullColumns() []table.Column {
	columns := append(s.names(),
		table.Column{Key: "threads", Unit: "count"},
		table.Column{Key: "wall_s", Unit: "seconds"},
		table.Column{Key: "busy_threads", Unit: "count"},
		table.Column{Key: "user_ratio", Unit: "ratio"},
		table.Column{Key: "system_ratio", Unit: "ratio"},
	)
	for state := threads.Run; state < threads.States; state++ {
		columns = append(columns, table.Column{Key: state.Key() + "_ratio", Unit: "ratio"})
	}
	return append(columns,
		table.Column{Key: "unaccounted_ratio", Unit: "ratio"},
		table.Column{Key: "scheduler_cpu_s", Unit: "seconds"},
		table.Column{Key: "scheduler_delay_s", Unit: "seconds"},
	)
}

// checkSort refuses a column that there is not.
func (s *threadShares) checkSort() error {
	t := table.Table{Columns: s.fullColumns()}
	if err := t.Sort(s.o.sort); err != nil {
		return &usageError{fmt.Errorf("reading --sort: %w", err), "give one of these"}
	}
	return nil
}

// full is the table with every state.
func (s *threadShares) full(rows *threadRows, length time.Duration) *ranked {
	t := &ranked{Table: table.Table{Key: s.o.by + "s", Columns: s.fullColumns()}, of: map[*table.Cell]*threadRow{}}
	if s.o.by == "process" {
		t.Key = "processes"
	}
	for _, row := range rows.rows {
		u := &row.usage
		share := func(d time.Duration) table.Cell {
			return table.Maybe(d.Seconds()/u.Wall.Seconds(), u.Wall > 0)
		}
		user, system, known := u.Split()
		cells := append(s.nameCells(row), table.Num(float64(max(1, len(row.threads)))), table.Num(u.Wall.Seconds()),
			table.Num(u.Busy().Seconds()/length.Seconds()))
		if known {
			cells = append(cells, share(user), share(system))
		} else {
			cells = append(cells, table.None(), table.None())
		}
		for state := threads.Run; state < threads.States; state++ {
			cells = append(cells, share(u.In[state]))
		}
		cells = append(cells, share(u.Unaccounted()), table.Num(u.Exec.Seconds()), table.Num(u.RunDelay.Seconds()))
		t.Rows = append(t.Rows, cells)
		t.of[&cells[0]] = row
	}
	return t
}

// narrow is the same for people: shares in percent, as many columns as there
// is room for.
func (s *threadShares) narrow(full *ranked) *ranked {
	width := cmp.Or(s.style.Width, 80)
	groups := groupsOf(width)
	out := &ranked{Table: table.Table{Key: full.Key, Left: full.Left, Title: s.title(width, groups)}}
	bar := 0
	switch {
	case width >= wideThreads:
		bar = min(60, width-wideThreads+14)
	case width >= barThreads:
		bar = width - barThreads + 16
	}
	names := 0
	for _, c := range s.names() {
		if s.o.by == "thread" && c.Key == "cgroup" && width < wideThreads+40 {
			break // and ENDED after it
		}
		names++
		switch c.Key {
		case "comm", "process", "cgroup":
			c.Flex = true
		}
		if s.o.by == "thread" && c.Key != "tid" && c.Key != "comm" || s.o.by == "process" && c.Key == "cgroup" {
			c.Drop = map[string]int{"ended": 9, "cgroup": 8, "process": 7, "pid": 6}[c.Key]
		}
		out.Columns = append(out.Columns, c)
	}
	figures := len(s.names())
	if s.o.by != "thread" {
		out.Columns = append(out.Columns, table.Column{Key: "threads", Head: "THR", Unit: "count"}, table.Column{Key: "busy_threads", Head: "BUSY", Unit: "count"})
	}
	if bar > 0 {
		out.Columns = append(out.Columns, table.Column{Key: "bar", Head: strings.Repeat("-", bar)})
	}
	if width >= wideThreads {
		out.Columns = append(out.Columns, table.Column{Key: "user", Head: "user", Unit: "count", Drop: 5}, table.Column{Key: "sys", Head: "sys", Unit: "count", Drop: 5})
	}
	for _, g := range groups {
		out.Columns = append(out.Columns, table.Column{Key: g.head, Head: g.head, Unit: "count"})
	}
	out.Columns = append(out.Columns, table.Column{Key: left, Head: left, Unit: "count"})
	for _, cells := range full.Rows {
		row := full.of[&cells[0]]
		line := slices.Clone(cells[:names])
		if s.o.by != "thread" {
			line = append(line, cells[figures], tenths(cells[figures+2].Number))
		}
		var parts []float64
		for _, g := range groups {
			var d time.Duration
			for _, state := range g.states {
				d += row.usage.In[state]
			}
			parts = append(parts, d.Seconds()/row.usage.Wall.Seconds())
		}
		if bar > 0 {
			line = append(line, table.Str(barOf(groups, parts, bar)))
		}
		if width >= wideThreads {
			line = append(line, percentOf(cells[figures+3]), percentOf(cells[figures+4]))
		}
		parts = append(parts, row.usage.Unaccounted().Seconds()/row.usage.Wall.Seconds())
		for _, part := range parts {
			line = append(line, percentOf(table.Maybe(part, row.usage.Wall > 0)))
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

func (s *threadShares) title(width int, groups []stateGroup) string {
	title := "Time in %, by " + s.o.by
	if width < barThreads {
		return title
	}
	var letters []string
	for _, g := range groups {
		letters = append(letters, string(g.letter)+" "+g.head)
	}
	return title + ": " + strings.Join(letters, " ")
}

func tenths(v float64) table.Cell { return table.Num(math.Round(v*10) / 10) }

func percentOf(c table.Cell) table.Cell {
	if c.State != table.Known {
		return c
	}
	return tenths(c.Number * 100)
}

// barOf draws shares as letters: each boundary where it belongs, so that the
// error is half a letter everywhere.
func barOf(groups []stateGroup, parts []float64, width int) string {
	var b strings.Builder
	sum := 0.0
	for i, g := range groups {
		sum += parts[i]
		if n := int(math.Round(min(sum, 1)*float64(width))) - b.Len(); n > 0 {
			b.WriteString(strings.Repeat(string(g.letter), n))
		}
	}
	return b.String()
}

// waitsByState are the lengths of waits.
type waitsByState [threads.States]sample.Histogram

func (w *waitsByState) add(o *threads.Waits) { w[o.State].Merge(&o.Lengths) }

// Slots of the drawing: 1 us to 16 s, in powers of two; what is shorter or
// longer counts as the first or the last.
const (
	firstSlot = 10
	lastSlot  = 33
)

func (w *waitsByState) table() table.Table {
	t := table.Table{Key: "waits", Title: "Waits that ended, by their length", Columns: []table.Column{
		{Key: "state", Head: "STATE"}, {Key: "waits", Head: "WAITS", Unit: "count"}, {Key: "time_s", Head: "TIME", Unit: "seconds"},
		{Key: "p50_s", Head: "P50", Unit: "seconds"}, {Key: "p90_s", Head: "P90", Unit: "seconds", Drop: 2},
		{Key: "p99_s", Head: "P99", Unit: "seconds"}, {Key: "longest_below_s", Head: "MAX <", Unit: "seconds"},
		{Key: "lengths", Head: "1us.......1ms.......1s..", Drop: 1},
	}}
	for state := threads.Runnable; state < threads.States; state++ {
		h := &w[state]
		n := h.N()
		if n == 0 {
			continue
		}
		top := 0
		for i, c := range h.Counts {
			if c > 0 {
				top = i
			}
		}
		t.Rows = append(t.Rows, []table.Cell{
			table.Str(state.Key()), table.Num(float64(n)), table.Num(h.Sum / 1e9), table.Num(h.Quantile(0.5) / 1e9),
			table.Num(h.Quantile(0.9) / 1e9), table.Num(h.Quantile(0.99) / 1e9), table.Num(math.Ldexp(1, top+1) / 1e9), table.Str(drawn(h)),
		})
	}
	return t
}

// drawn is a histogram in one line: the darker, the more waits.
func drawn(h *sample.Histogram) string {
	const shades = " .:-=+*#%@"
	var counts [lastSlot - firstSlot + 1]uint64
	for i, c := range h.Counts {
		counts[min(max(i, firstSlot), lastSlot)-firstSlot] += c
	}
	most := slices.Max(counts[:])
	line := make([]byte, len(counts))
	for i, c := range counts {
		shade := 0
		if c > 0 { // whatever is there is seen
			shade = 1 + int(float64(c)/float64(most)*float64(len(shades)-2))
		}
		line[i] = shades[shade]
	}
	return string(line)
}
