package picture

import (
	"math"
	"time"

	"iocause/internal/table"
)

// Interval is when the first of sets begins, and how long it is.
func Interval(sets []*Set) (start time.Time, length time.Duration) {
	if len(sets) == 0 {
		return start, 0
	}
	if n := len(sets[0].End); n > 0 {
		length = time.Duration(sets[0].End[n-1] * float64(time.Second))
	}
	return sets[0].Start, length
}

// Cells are the cells of the latency heat maps of sets, a row each, as they are
// drawn: how many I/Os of a device took how long in a stretch of time. Maps follow
// each other as on the page, each from the left to the right and from the bottom up.
func Cells(sets []*Set) table.Table {
	t := table.Table{Key: "cells", Title: "Latency heat maps", Whole: true, Columns: []table.Column{
		{Key: "begin", Head: "BEGIN"}, {Key: "end", Head: "END"}, {Key: "device", Head: "DEVICE", Flex: true}, {Key: "op", Head: "OP"}, {Key: "part", Head: "PART"},
		{Key: "from_seconds", Head: "FROM", Unit: "seconds"}, {Key: "to_seconds", Head: "TO", Unit: "seconds"}, {Key: "ios", Head: "I/OS", Unit: "count"},
	}}
	for _, s := range sets {
		for i := range s.Heats {
			t.Rows = append(t.Rows, s.cells(&s.Heats[i])...)
		}
	}
	return t
}

func (s *Set) cells(h *Heat) (rows [][]table.Cell) {
	begin, end := s.Begin, s.End
	if h.Begin != nil {
		begin, end = h.Begin, h.End
	}
	stamp := func(seconds float64) table.Cell {
		return table.Str(s.Start.Add(time.Duration(math.Round(seconds*1e6)) * time.Microsecond).Format(time.RFC3339Nano))
	}
	// the end of a row is that of I/Os that took less
	edge := func(row uint64) table.Cell { return table.Num(math.Exp2(float64(row)/float64(h.PerOctave)) * 1e-9) }
	for i, c := range h.Cells {
		for k := 1; k < len(c); k++ {
			if c[k] == 0 {
				continue
			}
			row := c[0] + uint64(k) - 1
			rows = append(rows, []table.Cell{stamp(begin[i]), stamp(end[i]), table.Str(h.Device), table.Str(h.Op), table.Str(h.Part), edge(row), edge(row + 1), table.Num(float64(c[k]))})
		}
	}
	return rows
}
