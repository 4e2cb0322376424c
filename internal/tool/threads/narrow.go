package threads

import (
	"math"
	"slices"
	"strings"
	"time"

	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// stateGroup is one column of states in a terminal.
type stateGroup struct {
	head   string
	letter byte // in the bar
	states []probe.State
}

// left is the head of the column of what no state accounts for.
const left = "left"

// groupsOf are the columns for a width.
func groupsOf(width int) []stateGroup {
	if width < wideThreads {
		return []stateGroup{
			{"cpu", 'C', []probe.State{probe.Run}},
			{"queue", 'q', []probe.State{probe.Runnable, probe.Preempted}},
			{"disk", 'D', []probe.State{probe.Disk, probe.FileSystem, probe.FaultDisk}},
			{"mem", 'M', []probe.State{probe.ReclaimRun, probe.Reclaim, probe.Fault, probe.DirtyPause}},
			{"klock", 'K', []probe.State{probe.MmapLock, probe.KernelLock}},
			{"futex", 'F', []probe.State{probe.Mutex, probe.Futex}},
			{"net", 'N', []probe.State{probe.Network, probe.IPC}},
			{"idle", '.', []probe.State{probe.Idle}},
			{"other", 'o', []probe.State{probe.Stopped, probe.Other}},
		}
	}
	return []stateGroup{
		{"cpu", 'C', []probe.State{probe.Run}},
		{"woken", 'q', []probe.State{probe.Runnable}},
		{"preem", 'p', []probe.State{probe.Preempted}},
		{"disk", 'D', []probe.State{probe.Disk}},
		{"fs", 'J', []probe.State{probe.FileSystem}},
		{"fdisk", 'd', []probe.State{probe.FaultDisk}},
		{"fault", 'f', []probe.State{probe.Fault}},
		{"dirty", 'W', []probe.State{probe.DirtyPause}},
		{"recl", 'R', []probe.State{probe.ReclaimRun, probe.Reclaim}},
		{"mmapl", 'M', []probe.State{probe.MmapLock}},
		{"klock", 'K', []probe.State{probe.KernelLock}},
		{"mutex", 'L', []probe.State{probe.Mutex}},
		{"futex", 'F', []probe.State{probe.Futex}},
		{"net", 'N', []probe.State{probe.Network}},
		{"ipc", 'P', []probe.State{probe.IPC}},
		{"idle", '.', []probe.State{probe.Idle}},
		{"stop", 's', []probe.State{probe.Stopped}},
		{"other", 'o', []probe.State{probe.Other}},
	}
}

// percentWidth is as wide as a share gets: "99.9".
const percentWidth = 4

// Widths from which each state has a column, and from which there is a bar.
const (
	wideThreads = 160
	barThreads  = 110
)

// narrow is the same for people: shares in percent, as many columns as there
// is room for.
func (r *Rows) narrow(full *ranked, width int) table.Table {
	groups := groupsOf(width)
	out := table.Table{Key: full.Key, Left: full.Left, Title: r.title(width, groups)}
	bar := 0
	switch {
	case width >= wideThreads:
		bar = min(60, width-wideThreads+14)
	case width >= barThreads:
		bar = width - barThreads + 16
	}
	named := 0
	for _, c := range names(r.by) {
		if r.by == "thread" && c.Key == "cgroup" && width < wideThreads+40 {
			break // and ENDED after it
		}
		named++
		switch c.Key {
		case "comm", "process", "cgroup":
			c.Flex = true
		}
		if r.by == "thread" && c.Key != "tid" && c.Key != "comm" || r.by == "process" && c.Key == "cgroup" {
			c.Drop = map[string]int{"ended": 9, "cgroup": 8, "process": 7, "pid": 6}[c.Key]
		}
		out.Columns = append(out.Columns, c)
	}
	figures := len(names(r.by))
	if r.by != "thread" {
		out.Columns = append(out.Columns, table.Column{Key: "threads", Head: "THR", Unit: "count"}, table.Column{Key: "busy_threads", Head: "BUSY", Unit: "count"})
	}
	if bar > 0 {
		out.Columns = append(out.Columns, table.Column{Key: "bar", Head: strings.Repeat("-", bar)})
	}
	if width >= wideThreads {
		out.Columns = append(out.Columns, table.Column{Key: "user", Head: "user", Unit: "count", Drop: 5}, table.Column{Key: "sys", Head: "sys", Unit: "count", Drop: 5})
	}
	for _, g := range groups {
		out.Columns = append(out.Columns, table.Column{Key: g.head, Head: g.head, Unit: "count", Least: percentWidth})
	}
	out.Columns = append(out.Columns, table.Column{Key: left, Head: left, Unit: "count", Least: percentWidth})
	for _, cells := range full.Rows {
		of := full.of[&cells[0]]
		line := slices.Clone(cells[:named])
		if r.by != "thread" {
			line = append(line, cells[figures], table.Tenths(cells[figures+2].Number))
		}
		var parts []float64
		for _, g := range groups {
			var d time.Duration
			for _, state := range g.states {
				d += of.usage.In[state]
			}
			parts = append(parts, of.share(d))
		}
		if bar > 0 {
			line = append(line, table.Str(barOf(groups, parts, bar)))
		}
		if width >= wideThreads {
			line = append(line, table.Percent(cells[figures+3]), table.Percent(cells[figures+4]))
		}
		parts = append(parts, of.share(of.usage.Unaccounted()))
		for _, part := range parts {
			line = append(line, table.Percent(table.Maybe(part, of.usage.Wall > 0)))
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

func (r *Rows) title(width int, groups []stateGroup) string {
	title := "Time in %, by " + r.by
	if width < barThreads {
		return title
	}
	var letters []string
	for _, g := range groups {
		letters = append(letters, string(g.letter)+" "+g.head)
	}
	return title + ": " + strings.Join(letters, " ")
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
