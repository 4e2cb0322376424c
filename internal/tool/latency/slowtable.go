package latency

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// slowCall is one of the slowest calls, and which of them it is.
type slowCall struct {
	*probe.SlowCall
	of *probe.Call
}

func (c *slowCall) functions() string {
	var names []string
	for _, f := range c.Stack {
		names = append(names, f.Name)
	}
	return strings.Join(names, " < ")
}

// slowest are the slowest calls of the rows, the very slowest first.
func (c *Calls) slowest(full *shown) []slowCall {
	var all []slowCall
	for _, row := range full.Rows {
		of := full.of[&row[0]]
		c.nameStacks(of)
		for i := range of.Slowest {
			all = append(all, slowCall{&of.Slowest[i], of})
		}
	}
	slices.SortStableFunc(all, func(a, b slowCall) int { return cmp.Compare(b.Wall, a.Wall) })
	return all
}

// slowTable are the slowest calls for programs.
func slowTable(calls []slowCall) table.Table {
	t := table.Table{Key: "slowest", Whole: true, Columns: []table.Column{
		{Key: "pid"}, {Key: "tid"}, {Key: "process"}, {Key: "thread"}, {Key: "syscall"},
		{Key: "result", Unit: "count"}, {Key: "wall_s", Unit: "seconds"},
	}}
	for p := probe.PartCPU; p < probe.Parts; p++ {
		t.Columns = append(t.Columns, table.Column{Key: p.Key() + "_s", Unit: "seconds"})
	}
	t.Columns = append(t.Columns, table.Column{Key: "wait_s", Unit: "seconds"}, table.Column{Key: "wait_state"}, table.Column{Key: "stack"})
	for i := range calls {
		c := &calls[i]
		row := []table.Cell{
			table.Str(fmt.Sprint(c.PID)), table.Str(fmt.Sprint(c.TID)), table.Str(string(c.of.Process)), table.Str(string(c.Thread)), table.Str(c.of.Name),
			table.Num(float64(c.Result)), table.Num(c.Wall.Seconds()),
		}
		for _, d := range c.In {
			row = append(row, table.Num(d.Seconds()))
		}
		state := table.None()
		if c.Wait > 0 {
			state = table.Str(c.State.Key())
		}
		t.Rows = append(t.Rows, append(row, table.Maybe(c.Wait.Seconds(), c.Wait > 0), state, table.Str(c.functions())))
	}
	return t
}

// slowShown is how many different stacks of slow calls people are shown.
const slowShown = 5

// slowText are the slowest calls for people: calls of one process and stack
// are one entry, that has a line for each function.
func slowText(calls []slowCall, top int) table.Table {
	t := table.Table{Key: "slowest", Whole: true, Title: "The slowest calls, and where they waited longest", Columns: []table.Column{
		{Key: "max", Head: "MAX"}, {Key: "calls", Head: "CALLS"}, {Key: "process", Head: "PROCESS"}, {Key: "syscall", Head: "CALL"},
		{Key: "function", Head: "STACK, INNERMOST FUNCTION FIRST", Flex: true},
	}}
	type entry struct {
		slowCall
		calls int
	}
	type place struct {
		pid, number int
		functions   string
	}
	var entries []*entry
	by := map[place]*entry{}
	for _, c := range calls {
		at := place{c.PID, c.Number, c.functions()}
		if by[at] == nil {
			by[at] = &entry{slowCall: c}
			entries = append(entries, by[at])
		}
		by[at].calls++
	}
	for i, e := range entries {
		if i >= slowShown && top > 0 {
			t.Left++
			continue
		}
		lead := []table.Cell{table.Str(table.Duration(e.Wall.Seconds())), table.Str(fmt.Sprint(e.calls)), table.Str(string(e.of.Process)), table.Str(e.of.Name)}
		if e.Wait > 0 {
			t.Rows = append(t.Rows, append(lead, table.Str(fmt.Sprintf("[one wait of %s: %s]", table.Duration(e.Wait.Seconds()), e.State.Key()))))
			lead = nil
		}
		for _, f := range e.Stack {
			if lead == nil {
				lead = slices.Repeat([]table.Cell{table.Str("")}, len(t.Columns)-1)
			}
			t.Rows = append(t.Rows, append(lead, table.Str(f.Name)))
			lead = nil
		}
	}
	return t
}
