package profile

import (
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Table has the stacks by state and process, for a terminal of so many columns
// or, 0, for programs. For people they are told by their innermost functions,
// and narrow ones leave the counts out: functions need the room.
func Table(p *sample.Profile, width int) table.Table {
	forPeople := width > 0
	t := table.Table{
		Key: "stacks",
		Columns: []table.Column{
			{Key: "state", Head: "STATE"},
			{Key: "time_s", Head: "TIME", Unit: "seconds"},
			{Key: "share", Head: "SHARE", Unit: "ratio"},
			{Key: p.Counts, Head: strings.ToUpper(p.Counts), Unit: "count", Drop: 2},
			{Key: "process", Head: "PROCESS"},
			{Key: "stack", Head: "STACK, INNERMOST FUNCTION FIRST", Flex: true},
		},
		Notes: p.Notes,
	}
	total := p.Total().Seconds()
	type place struct{ state, process, stack string }
	rows := map[place]int{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		at := place{s.State, s.Process, everyFunction(s)}
		if forPeople {
			at.stack = innermost(s)
		}
		n, ok := rows[at]
		if !ok {
			n = len(t.Rows)
			rows[at] = n
			t.Rows = append(t.Rows, []table.Cell{table.Str(at.state), table.Num(0), table.Num(0), table.Num(0), table.Str(at.process), table.Str(at.stack)})
		}
		row := t.Rows[n]
		row[1].Number += s.Time.Seconds()
		row[3].Number += float64(s.Count)
		if total > 0 {
			row[2].Number = row[1].Number / total
		}
	}
	if forPeople && width < wideTable {
		const counts = 3
		t.Columns = slices.Delete(t.Columns, counts, counts+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], counts, counts+1)
		}
	}
	return t
}

// wideTable is the width in which a table of stacks has room for all.
const wideTable = 100
