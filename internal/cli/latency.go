package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/source/probe/threads"
	"iocause/internal/symbol"
	"iocause/internal/table"
)

// latencyOptions are the flags of latency.
type latencyOptions struct {
	intervals
	filter   filter
	calls    []string
	parts    bool
	slow     time.Duration
	playback playback
}

func newLatencyCommand(a *app) *cobra.Command {
	o := &latencyOptions{}
	c := &cobra.Command{
		Use:   "latency " + intervalUsage,
		Short: "Show what the time of system calls is made of",
		Long: "Latency measures every system call of every process and parts its time into\n" +
			"what it was made of; the parts add up to the wall time of each call:\n" +
			"  cpu        on a processor, in the kernel\n" +
			"  queue      woken, but waiting for a processor\n" +
			"  preempted  lost the processor to another thread\n" +
			"  disk       block I/O, file systems, page faults that read\n" +
			"  lock       locks of the kernel and of the program\n" +
			"  throttle   paused for dirty pages, asleep in direct reclaim\n" +
			"  other      network, pipes, timers, what is not known\n" +
			"A call counts when it returns. Calls that wait for something to happen (sleep,\n" +
			"poll, wait, futex) are left out unless --syscall names them. Percentiles are at\n" +
			"most 6.25 % off; counts and sums are exact. --parts shows them for every part.\n" +
			"Of the slowest calls of each row, 3 that took --slow or longer, the stack is\n" +
			"shown: the program's, and the kernel's of the longest wait.\n\n" + intervalHelp,
		Example: `  iocause latency
  iocause latency 1 --pid 1234 --parts
  iocause latency --syscall read,fsync,mmap,munmap
  iocause latency 5 --sort disk_s
  iocause latency --pid 1234 --syscall fsync --slow 50ms
  iocause latency 10 1 --syscall all --format json
  iocause latency --recording 17 --sort disk_s`,
		RunE: func(c *cobra.Command, args []string) error { return a.latency(c, o, args) },
	}
	o.bind(c, "wall_s")
	f := c.Flags()
	f.StringSliceVar(&o.calls, "syscall", nil, "only these calls, by name or number, or all")
	f.BoolVar(&o.parts, "parts", false, "show the percentiles of every part, too")
	f.Var(timeIn(&o.slow, defaultSlow), "slow", "stacks of calls this long, 0 for none")
	f.IntVar(&o.filter.pid, "pid", 0, "only calls of this process")
	f.StringVar(&o.filter.comm, "comm", "", "only calls of processes of this name")
	o.playback.bind(c)
	return c
}

// callNumbers are the calls to look at.
func (o *latencyOptions) callNumbers(given bool) ([]int, error) {
	if !given {
		return threads.DefaultCalls(), nil
	}
	var numbers []int
	for _, name := range o.calls {
		if name == "all" {
			for nr := range threads.CallNames() {
				numbers = append(numbers, nr)
			}
			continue
		}
		nr, ok := threads.CallNumber(name)
		if !ok {
			return nil, noSuchCall(name)
		}
		numbers = append(numbers, nr)
	}
	if len(numbers) == 0 {
		return nil, noCalls()
	}
	return numbers, nil
}

func noSuchCall(name string) error {
	return &usageError{fmt.Errorf("reading --syscall: no system call is called %q", name), "give names as 'man 2 syscalls' lists them, numbers, or all"}
}

func noCalls() error {
	return &usageError{errors.New("reading --syscall: it is empty"), "give names such as read,fsync, or all"}
}

func (o *latencyOptions) checkSlow() error {
	if o.slow < 0 {
		return &usageError{fmt.Errorf("reading --slow: %v is no length of a call", o.slow), "give 0 for no stacks, or a time such as 10ms"}
	}
	return nil
}

// latency is the command.
func (a *app) latency(c *cobra.Command, o *latencyOptions, args []string) error {
	if data, err := a.evidence(c, &o.playback, sectionLatency); err != nil {
		return err
	} else if data != nil {
		return a.playCalls(c, o, data, args)
	}
	if err := o.args(args); err != nil {
		return err
	}
	s := &callLatencies{o: o, names: threads.CallNames(), total: map[callKey]*threads.Call{}}
	if err := s.checkSort(); err != nil {
		return err
	}
	numbers, err := o.callNumbers(c.Flags().Changed("syscall"))
	if err != nil {
		return err
	}
	if err := o.checkSlow(); err != nil {
		return err
	}
	names := symbol.New(a.host)
	defer names.Close()
	s.stacks = newSlowStacks(names)
	options := threads.CallOptions{Calls: numbers, Slow: o.slow, Met: names.Meet, Unwind: unwinder(names)}
	for _, name := range o.filter.given(c) {
		t, err := o.filter.target(a.host, []string{name})
		if err != nil {
			return err
		}
		if len(t.PIDs) > 0 {
			options.PID = t.PIDs[0]
		}
		s.comm += t.Comm
	}
	s.self = a.host.Self
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	probe, err := threads.OpenLatency(a.host, options)
	if err != nil {
		return fmt.Errorf("watching the system calls: %w", err)
	}
	s.probe, s.notes = probe, probe.Missing()
	return errors.Join(a.watchCalls(watch, s), probe.Close())
}

// watchCalls shows one interval after the other.
func (a *app) watchCalls(watch context.Context, s *callLatencies) error {
	if err := s.probe.Begin(); err != nil {
		return fmt.Errorf("watching the system calls: %w", err)
	}
	arranged := s.o.intervals
	arranged.sort, arranged.top = "", 0 // the tables come sorted and cut
	p := a.newPrinter(&arranged)
	s.style = p.style
	return a.showIntervals(watch, &s.o.intervals, p, &observed{tick: drainEvery, during: s.probe.Sweep, follow: true,
		next: func(session.Interval) ([]table.Table, error) {
			tables, err := s.look()
			if err != nil {
				return nil, fmt.Errorf("watching the system calls: %w", err)
			}
			return tables, nil
		},
		sum: func(time.Duration) []table.Table { return s.sum() }})
}

// callKey is one call of one process.
type callKey struct{ pid, number int }

// callLatencies makes the tables of latency.
type callLatencies struct {
	o      *latencyOptions
	probe  *threads.Latency
	stacks stackNames
	names  map[int]string
	style  text.Style
	self   int
	comm   string
	total  map[callKey]*threads.Call
	notes  []string
	lost   map[string]uint64
}

// look is the tables of one interval.
func (s *callLatencies) look() ([]table.Table, error) {
	all, err := s.probe.Look()
	if err != nil {
		return nil, err
	}
	var calls []*threads.Call
	for i := range all {
		c := &all[i]
		if c.PID == s.self || s.comm != "" && c.Process != s.comm {
			continue
		}
		calls = append(calls, c)
		key := callKey{c.PID, c.Number}
		if t := s.total[key]; t != nil {
			t.Add(c)
		} else {
			first := *c
			s.total[key] = &first
		}
	}
	now, err := s.probe.Losses()
	if err != nil {
		return nil, err
	}
	s.notes = append(s.notes, newLosses(now, s.lost)...)
	s.lost = now
	return s.tables(calls), nil
}

// sum is the tables of all intervals.
func (s *callLatencies) sum() []table.Table {
	s.notes = append(s.notes, newLosses(s.lost, nil)...)
	return s.tables(slices.Collect(maps.Values(s.total)))
}

// tables are what is shown of the calls.
func (s *callLatencies) tables(calls []*threads.Call) []table.Table {
	slices.SortFunc(calls, func(a, b *threads.Call) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Number, b.Number))
	})
	full, of := s.full(calls)
	_ = full.Sort(s.o.sort) // checkSort has found the column
	full.Top(s.o.top)
	shown := []table.Table{full}
	if s.o.format == "text" {
		shown[0] = s.narrow(&full, of)
		if s.o.parts {
			shown = append(shown, s.partsTable(&full, of))
		}
	}
	switch slow := s.slowest(&full, of); {
	case s.o.slow == 0:
	case s.o.format == "json":
		shown = append(shown, s.slowTable(slow))
	case len(slow) > 0 && s.o.format == "text":
		shown = append(shown, s.slowText(slow))
		s.notes = append(s.notes, s.stacks.notes()...)
	}
	shown[0].Notes = s.notes
	s.notes = nil
	return shown
}

// callName is a call's name, or its number.
func callName(names map[int]string, number int) string {
	return cmp.Or(names[number], fmt.Sprintf("call %d", number))
}

// quantiles are those that are shown.
func quantiles() map[string]float64 { return map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99} }

// fullColumns are the columns for programs.
func (s *callLatencies) fullColumns() []table.Column {
	columns := []table.Column{
		{Key: "pid"}, {Key: "process"}, {Key: "syscall"}, {Key: "calls", Unit: "count"}, {Key: "failed", Unit: "count"},
	}
	kinds := []string{"wall"}
	for p := threads.PartCPU; p < threads.Parts; p++ {
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

// checkSort refuses a column that there is not.
func (s *callLatencies) checkSort() error {
	t := table.Table{Columns: s.fullColumns()}
	if err := t.Sort(s.o.sort); err != nil {
		return &usageError{fmt.Errorf("reading --sort: %w", err), "give one of these"}
	}
	return nil
}

// full is the table with every figure, and the call that each row, known by its
// first cell, was made of.
func (s *callLatencies) full(calls []*threads.Call) (table.Table, map[*table.Cell]*threads.Call) {
	t := table.Table{Key: "calls", Columns: s.fullColumns()}
	of := map[*table.Cell]*threads.Call{}
	for _, c := range calls {
		cells := []table.Cell{table.Str(fmt.Sprint(c.PID)), table.Str(c.Process), table.Str(callName(s.names, c.Number)), table.Num(float64(c.Count)), table.Num(float64(c.Failed))}
		cells = append(cells, lengthCells(c.Wall, c.Walls, c.Count)...)
		for p := range c.In {
			cells = append(cells, lengthCells(c.In[p], c.Times[p], c.Count)...)
		}
		t.Rows = append(t.Rows, cells)
		of[&cells[0]] = c
	}
	return t, of
}

// lengthCells are a sum, percentiles and the longest.
func lengthCells(sum time.Duration, l *threads.Lengths, n uint64) []table.Cell {
	cells := []table.Cell{table.Num(sum.Seconds())}
	all := quantiles()
	for _, q := range slices.Sorted(maps.Keys(all)) {
		cells = append(cells, table.Num(l.Quantile(all[q], n).Seconds()))
	}
	return append(cells, table.Num(l.Most().Seconds()))
}

// narrow is the same for people: the wall time, and its parts in percent.
func (s *callLatencies) narrow(full *table.Table, of map[*table.Cell]*threads.Call) table.Table {
	wide := s.style.Width >= 110
	out := table.Table{Key: full.Key, Left: full.Left, Title: "System calls, and what their time is made of in %", Columns: []table.Column{
		{Key: "process", Head: "PROCESS", Flex: true}, {Key: "syscall", Head: "CALL"}, {Key: "calls", Head: "CALLS", Unit: "count"},
		{Key: "wall_s", Head: "TIME", Unit: "seconds", Drop: 1}, {Key: "p50", Head: "P50", Unit: "seconds"},
		{Key: "p99", Head: "P99", Unit: "seconds"}, {Key: "max", Head: "MAX", Unit: "seconds", Drop: 2},
	}}
	groups := [][]threads.Part{{threads.PartCPU}, {threads.PartQueue, threads.PartPreempted}, {threads.PartDisk}, {threads.PartLock}, {threads.PartThrottle, threads.PartOther}}
	heads := []string{"cpu", "queue", "disk", "lock", "other"}
	if wide {
		out.Columns = slices.Insert(out.Columns, 0, table.Column{Key: "pid", Head: "PID"})
		out.Columns = slices.Insert(out.Columns, 4, table.Column{Key: "failed", Head: "FAILED", Unit: "count", Drop: 3})
		out.Columns = slices.Insert(out.Columns, 7, table.Column{Key: "p90", Head: "P90", Unit: "seconds", Drop: 4})
		groups, heads = nil, nil
		for p := threads.PartCPU; p < threads.Parts; p++ {
			groups, heads = append(groups, []threads.Part{p}), append(heads, p.Key())
		}
	}
	for _, head := range heads {
		out.Columns = append(out.Columns, table.Column{Key: head, Head: strings.TrimSuffix(head, "pted"), Unit: "count"})
	}
	for _, row := range full.Rows {
		c := of[&row[0]]
		quantile := func(q float64) table.Cell { return table.Num(c.Walls.Quantile(q, c.Count).Seconds()) }
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
			line = append(line, percentOf(table.Maybe(d.Seconds()/c.Wall.Seconds(), c.Wall > 0)))
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// partsTable is every part that is not 0 of each call that is shown.
func (s *callLatencies) partsTable(full *table.Table, of map[*table.Cell]*threads.Call) table.Table {
	out := table.Table{Key: "parts", Title: "The parts of each call", Columns: []table.Column{
		{Key: "process", Head: "PROCESS", Flex: true}, {Key: "syscall", Head: "CALL"}, {Key: "part", Head: "PART"},
		{Key: "in", Head: "IN CALLS", Unit: "count"}, {Key: "s", Head: "TIME", Unit: "seconds"}, {Key: "share", Head: "SHARE", Unit: "ratio"},
		{Key: "p50", Head: "P50", Unit: "seconds"}, {Key: "p90", Head: "P90", Unit: "seconds", Drop: 1},
		{Key: "p99", Head: "P99", Unit: "seconds"}, {Key: "max", Head: "MAX", Unit: "seconds"},
	}}
	for _, row := range full.Rows {
		c := of[&row[0]]
		for p := range c.In {
			n := c.Times[p].N()
			if n == 0 {
				continue
			}
			line := []table.Cell{row[1], row[2], table.Str(threads.Part(p).Key()), table.Num(float64(n))}
			cells := lengthCells(c.In[p], c.Times[p], c.Count)
			line = append(line, cells[0], table.Maybe(c.In[p].Seconds()/c.Wall.Seconds(), c.Wall > 0))
			out.Rows = append(out.Rows, append(line, cells[1:]...))
		}
	}
	return out
}
