package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/source/probe/threads"
	"iocause/internal/symbol"
	"iocause/internal/table"
)

// stackNames gives the slowest calls their functions' names.
type stackNames interface {
	stackOf(process string, c *threads.SlowCall) []*sample.Frame // innermost first
	notes() []string                                             // that were not said yet
}

// slowStacks looks for the names in the programs' files.
type slowStacks struct {
	names *symbol.Resolver
	known *resolver
	said  map[string]bool // notes
}

func newSlowStacks(names *symbol.Resolver) *slowStacks {
	return &slowStacks{names: names, known: newResolver(names), said: map[string]bool{}}
}

// frameNoWait stands where the kernel's functions would.
const frameNoWait = "[no kernel stack: no long wait]"

// stackOf implements stackNames.
func (s *slowStacks) stackOf(process string, c *threads.SlowCall) []*sample.Frame {
	s.names.Check(c.PID, process, c.User)
	k := stacks.Stack{IPs: c.Kernel, Cut: c.KernelCut}
	frames := s.known.frames(c.PID, false, stacks.Stack{IPs: c.User, Cut: c.UserCut, IsWhole: c.IsWhole}, s.known.kernel(k), k)
	slices.Reverse(frames)
	if len(c.Kernel) == 0 {
		frames = slices.Insert(frames, 0, s.known.remark(frameNoWait))
	}
	return frames
}

// notes implements stackNames.
func (s *slowStacks) notes() []string {
	var fresh []string
	for _, note := range sorted(s.names.Notes()) {
		if !s.said[note] {
			s.said[note] = true
			fresh = append(fresh, note)
		}
	}
	return fresh
}

// namedCall is one of the slowest calls, with names.
type namedCall struct {
	*threads.SlowCall
	process string
	stack   []*sample.Frame
}

func (c *namedCall) functions() string {
	var names []string
	for _, f := range c.stack {
		names = append(names, f.Name)
	}
	return strings.Join(names, " < ")
}

// slowest are the slowest calls of the rows, the very slowest first.
func (s *callLatencies) slowest(full *table.Table, of map[*table.Cell]*threads.Call) []namedCall {
	var all []namedCall
	for _, row := range full.Rows {
		c := of[&row[0]]
		for i := range c.Slowest {
			slow := &c.Slowest[i]
			all = append(all, namedCall{slow, c.Process, s.stacks.stackOf(c.Process, slow)})
		}
	}
	slices.SortStableFunc(all, func(a, b namedCall) int { return cmp.Compare(b.Wall, a.Wall) })
	return all
}

// slowTable are the slowest calls for programs.
func (s *callLatencies) slowTable(calls []namedCall) table.Table {
	t := table.Table{Key: "slowest", Whole: true, Columns: []table.Column{
		{Key: "pid"}, {Key: "tid"}, {Key: "process"}, {Key: "thread"}, {Key: "syscall"},
		{Key: "result", Unit: "count"}, {Key: "wall_s", Unit: "seconds"},
	}}
	for p := threads.PartCPU; p < threads.Parts; p++ {
		t.Columns = append(t.Columns, table.Column{Key: p.Key() + "_s", Unit: "seconds"})
	}
	t.Columns = append(t.Columns, table.Column{Key: "wait_s", Unit: "seconds"}, table.Column{Key: "wait_state"}, table.Column{Key: "stack"})
	for i := range calls {
		c := &calls[i]
		row := []table.Cell{
			table.Str(fmt.Sprint(c.PID)), table.Str(fmt.Sprint(c.TID)), table.Str(c.process), table.Str(c.Thread), table.Str(callName(s.names, c.Number)),
			table.Num(float64(c.Result)), table.Num(c.Wall.Seconds()),
		}
		for _, d := range c.In {
			row = append(row, table.Num(d.Seconds()))
		}
		state := table.Cell{State: table.Absent}
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
func (s *callLatencies) slowText(calls []namedCall) table.Table {
	t := table.Table{Key: "slowest", Whole: true, Title: "The slowest calls, and where they waited longest", Columns: []table.Column{
		{Key: "max", Head: "MAX"}, {Key: "calls", Head: "CALLS"}, {Key: "process", Head: "PROCESS"}, {Key: "syscall", Head: "CALL"},
		{Key: "function", Head: "FUNCTIONS, THE INNERMOST FIRST", Flex: true},
	}}
	type entry struct {
		namedCall
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
			by[at] = &entry{namedCall: c}
			entries = append(entries, by[at])
		}
		by[at].calls++
	}
	for i, e := range entries {
		if i >= slowShown && s.o.top > 0 {
			t.Left++
			continue
		}
		lead := []table.Cell{table.Str(table.Duration(e.Wall.Seconds())), table.Str(fmt.Sprint(e.calls)), table.Str(e.process), table.Str(callName(s.names, e.Number))}
		if e.Wait > 0 {
			t.Rows = append(t.Rows, append(lead, table.Str(fmt.Sprintf("[waited %s at once: %s]", table.Duration(e.Wait.Seconds()), e.State.Key()))))
			lead = nil
		}
		for _, f := range e.stack {
			if lead == nil {
				lead = slices.Repeat([]table.Cell{table.Str("")}, len(t.Columns)-1)
			}
			t.Rows = append(t.Rows, append(lead, table.Str(f.Name)))
			lead = nil
		}
	}
	return t
}

// defaultSlow is the length of calls from which on stacks are kept.
const defaultSlow = time.Millisecond
