package threads

import (
	"fmt"
	"slices"
	"time"

	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// Layout is how the tables are wanted.
type Layout struct {
	By    string // what a row is: one of Groupings
	Sort  string // by this column of Columns
	Top   int    // rows, 0 for all
	Width int    // of the terminal; 0: all columns, for programs
	Waits bool   // a table of the lengths of waits, too
}

// Tables are the threads of one interval.
func (t *Threads) Tables(l *Layout) ([]table.Table, error) {
	rows := NewRows(l.By)
	rows.Add(t)
	return rows.Tables(t.Length, t.Notes, l)
}

// Tables are the rows over so long a time.
func (r *Rows) Tables(length time.Duration, notes []string, l *Layout) ([]table.Table, error) {
	full := r.full(length)
	// The order is that of the full table, whichever columns are shown.
	if err := full.Sort(l.Sort); err != nil {
		return nil, err
	}
	full.Top(l.Top)
	shown := full.Table
	if l.Width > 0 {
		shown = r.narrow(full, l.Width)
	}
	shown.Notes = slices.Clone(notes)
	if r.merged > 0 {
		shown.Notes = append(shown.Notes, sample.Counted(r.merged, "thread")+", seen last, added up in one row")
	}
	if len(r.rows) == 0 {
		shown.Notes = append(shown.Notes, "no thread matched")
	}
	out := []table.Table{shown}
	if l.Waits {
		out = append(out, r.waits.table())
	}
	return out, nil
}

// ranked is a table whose rows know what they were made of.
type ranked struct {
	table.Table
	of map[*table.Cell]*row // by their first cell
}

// names are the columns that name a row.
func names(by string) []table.Column {
	switch by {
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

func (r *row) nameCells(columns []table.Column) []table.Cell {
	u := &r.usage
	ended := "no"
	if r.ended > 0 {
		ended = "yes"
	}
	cells := map[string]table.Cell{
		"tid": table.Str(fmt.Sprint(u.TID)), "pid": table.Str(fmt.Sprint(u.PID)), "comm": table.Str(string(u.Comm)),
		"process": table.Str(string(u.Process)), "cgroup": table.Str(r.cgroupName()), "ended": table.Str(ended),
	}
	var out []table.Cell
	for _, c := range columns {
		out = append(out, cells[c.Key])
	}
	return out
}

// Columns are those for programs, of rows by this.
func Columns(by string) []table.Column {
	columns := append(names(by),
		table.Column{Key: "threads", Unit: "count"},
		table.Column{Key: "wall_s", Unit: "seconds"},
		table.Column{Key: "busy_threads", Unit: "count"},
		table.Column{Key: "user_ratio", Unit: "ratio"},
		table.Column{Key: "system_ratio", Unit: "ratio"},
	)
	for state := probe.Run; state < probe.States; state++ {
		columns = append(columns, table.Column{Key: state.Key() + "_ratio", Unit: "ratio"})
	}
	return append(columns,
		table.Column{Key: "unaccounted_ratio", Unit: "ratio"},
		table.Column{Key: "scheduler_cpu_s", Unit: "seconds"},
		table.Column{Key: "scheduler_delay_s", Unit: "seconds"},
	)
}

// full is the table with every state.
func (r *Rows) full(length time.Duration) *ranked {
	t := &ranked{Table: table.Table{Key: r.by + "s", Columns: Columns(r.by)}, of: map[*table.Cell]*row{}}
	if r.by == "process" {
		t.Key = "processes"
	}
	named := names(r.by)
	for _, of := range r.rows {
		u := &of.usage
		share := func(d time.Duration) table.Cell { return table.Maybe(of.share(d), u.Wall > 0) }
		user, system, known := u.Split()
		cells := append(of.nameCells(named), table.Num(float64(max(1, len(of.threads)))), table.Num(u.Wall.Seconds()),
			table.Num(u.Busy().Seconds()/length.Seconds()))
		if known {
			cells = append(cells, share(user), share(system))
		} else {
			cells = append(cells, table.None(), table.None())
		}
		for state := probe.Run; state < probe.States; state++ {
			cells = append(cells, share(u.In[state]))
		}
		cells = append(cells, share(u.Unaccounted()), table.Num(u.Exec.Seconds()), table.Num(u.RunDelay.Seconds()))
		t.Rows = append(t.Rows, cells)
		t.of[&cells[0]] = of
	}
	return t
}
