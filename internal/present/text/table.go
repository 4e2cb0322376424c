package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Column is one column of a table.
type Column struct {
	Key   string // for programs: lower case, with the unit ("read_bytes_per_s")
	Head  string // for people, above the column
	Unit  string // of the numbers, as Value takes it; "" in a column of text
	Flex  bool   // a name of any length: cut in its middle to what is left of the width
	Least int    // columns of the terminal that a flexible one has at least; 0 is 15
	Drop  int    // left out where the width does not suffice, highest first; 0 never
	Rare  bool   // left out for people where all is zero or absent
}

// State tells a figure from the reasons that there is none.
type State int

// The states of a cell.
const (
	Known  State = iota
	Absent       // does not apply, or was not measured: "-", null
	Failed       // should be there, but reading it failed: "?", and a note says why
)

// Cell is one entry of a row: a number where the column has a unit, a text
// otherwise.
type Cell struct {
	State  State
	Number float64
	Text   string // data from the system, any bytes
}

// Num is a number in its column's unit.
func Num(v float64) Cell { return Cell{Number: v} }

// Str is a text.
func Str(s string) Cell { return Cell{Text: s} }

// None is the cell of what does not apply or was not measured.
func None() Cell { return Cell{State: Absent} }

// Maybe is a number if it was measured.
func Maybe(v float64, ok bool) Cell {
	if !ok {
		return None()
	}
	return Num(v)
}

// Unread is the cell of what could not be read.
func Unread() Cell { return Cell{State: Failed} }

// Table is a table before it has a form. Every row has a cell for each column.
type Table struct {
	Key     string // for programs: "processes"
	Title   string // for people, above the head; may be ""
	Columns []Column
	Rows    [][]Cell
	Whole   bool     // the rows are in an order that means something: neither sorted nor cut
	Stream  bool     // goes on from interval to interval: the heading is written once
	Left    int      // rows that were left out of Rows for want of room (--top)
	Notes   []string // what a reader must know of the figures: losses, gaps, caveats
}

// Sort orders the rows by a column, largest number or smallest text first.
// What is not known comes last.
func (t *Table) Sort(key string) error {
	at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
	if at < 0 {
		return fmt.Errorf("sorting by %q: no such column; there are %s", key, strings.Join(t.Keys(), ", "))
	}
	if t.Whole {
		return nil
	}
	text := t.Columns[at].Unit == ""
	slices.SortStableFunc(t.Rows, func(a, b []Cell) int {
		x, y := a[at], b[at]
		switch {
		case x.State != Known || y.State != Known:
			return cmp.Compare(x.State, y.State)
		case text:
			return strings.Compare(x.Text, y.Text)
		}
		return cmp.Compare(y.Number, x.Number)
	})
	return nil
}

// Top keeps the first n rows; 0 keeps all.
func (t *Table) Top(n int) {
	if !t.Whole && n > 0 && len(t.Rows) > n {
		t.Left += len(t.Rows) - n
		t.Rows = t.Rows[:n]
	}
}

// Keys are the names of the columns for programs.
func (t *Table) Keys() []string {
	var keys []string
	for _, c := range t.Columns {
		keys = append(keys, c.Key)
	}
	return keys
}

const gap = 1 // columns of the terminal between two columns of a table

// narrowest is the default of Column.Least: the name of a process.
const narrowest = 15

// WriteRows writes a table without its title and head.
func WriteRows(w io.Writer, t *Table, s Style) error {
	rest := *t
	rest.Title = ""
	return write(w, &rest, s, 1)
}

// WriteTable writes a table no wider than the style says. Columns are as wide
// as their content; flexible ones share what is left.
func WriteTable(w io.Writer, t *Table, s Style) error { return write(w, t, s, 0) }

func write(w io.Writer, t *Table, s Style, from int) error {
	p := &page{width: max(cmp.Or(s.Width, 80), 40), color: s.Color}
	if t.Title != "" {
		p.raw(span{Escape(t.Title), bold})
	}
	grid := gridOf(t)
	shown, widths := fit(t.Columns, t.Rows, grid, p.width)
	for r, line := range grid {
		l := plain
		switch {
		case r < from:
			continue
		case r == 0:
			l = dim
		}
		p.raw(span{row(t.Columns, shown, widths, line), l})
	}
	if len(t.Rows) == 0 {
		p.raw(span{"(none)", dim})
	}
	if t.Left > 0 {
		p.raw(span{fmt.Sprintf("and %d more; --top 0 shows all", t.Left), dim})
	}
	for _, note := range t.Notes {
		for i, line := range Wrap(Escape(note), p.width-2) {
			lead := "  "
			if i == 0 {
				lead = "! "
			}
			p.raw(span{lead + line, plain})
		}
	}
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// gridOf is the table as text, its head first.
func gridOf(t *Table) [][]string {
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Head
	}
	grid := [][]string{head}
	for _, cells := range t.Rows {
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = c.show(t.Columns[i].Unit)
		}
		grid = append(grid, line)
	}
	return grid
}

func (c Cell) show(unit string) string {
	switch {
	case c.State == Absent:
		return "-"
	case c.State == Failed:
		return "?"
	case unit != "":
		return Value(c.Number, unit)
	}
	return Escape(c.Text)
}

// fit chooses the columns that there is room for, and their widths.
func fit(columns []Column, rows [][]Cell, grid [][]string, width int) (shown []int, widths []int) {
	widths = make([]int, len(columns))
	for _, line := range grid {
		for i, cell := range line {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	for i, c := range columns {
		if !c.Rare || slices.ContainsFunc(rows, func(r []Cell) bool { return r[i].State == Failed || r[i].State == Known && r[i].Number != 0 }) {
			shown = append(shown, i)
		}
	}
	for {
		rigid, flexible := -gap, 0
		var flex []int
		for _, i := range shown {
			rigid += gap
			if columns[i].Flex {
				flex = append(flex, i)
				flexible += min(widths[i], cmp.Or(columns[i].Least, narrowest))
			} else {
				rigid += widths[i]
			}
		}
		if rigid+flexible <= width {
			share(flex, widths, width-rigid)
			return shown, widths
		}
		worst := slices.MaxFunc(shown, func(a, b int) int { return cmp.Compare(columns[a].Drop, columns[b].Drop) })
		if columns[worst].Drop == 0 {
			share(flex, widths, max(width-rigid, len(flex)*2))
			return shown, widths // the page cuts what is too long
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == worst })
	}
}

// share cuts the flexible columns down to room columns of the terminal
// together: the widest first, so that short names stay whole.
func share(flex, widths []int, room int) {
	flex = slices.Clone(flex)
	slices.SortFunc(flex, func(a, b int) int { return cmp.Compare(widths[a], widths[b]) })
	for k, i := range flex {
		widths[i] = min(widths[i], room/(len(flex)-k))
		room -= widths[i]
	}
}

// row is one line: texts to the left, numbers to the right.
func row(columns []Column, shown, widths []int, line []string) string {
	var b strings.Builder
	for k, i := range shown {
		if k > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		cell := line[i]
		if columns[i].Flex {
			cell = Middle(cell, widths[i])
		}
		if columns[i].Unit == "" {
			b.WriteString(Pad(cell, widths[i]))
			continue
		}
		b.WriteString(strings.Repeat(" ", max(0, widths[i]-Width(cell))) + cell)
	}
	return strings.TrimRight(b.String(), " ")
}

// Object is a table for a JSON document: its rows as objects, figures as
// numbers in base units, null for what is absent, "?" for what failed.
func (t *Table) Object() map[string]any {
	rows := make([]map[string]any, 0, len(t.Rows))
	for _, cells := range t.Rows {
		object := map[string]any{}
		for i, c := range cells {
			object[t.Columns[i].Key] = c.value(t.Columns[i].Unit)
		}
		rows = append(rows, object)
	}
	o := map[string]any{"rows": rows}
	if t.Left > 0 {
		o["rows_left_out"] = t.Left
	}
	if len(t.Notes) > 0 {
		o["notes"] = t.Notes
	}
	return o
}

func (c Cell) value(unit string) any {
	switch {
	case c.State == Absent:
		return nil
	case c.State == Failed:
		return "?"
	case unit != "":
		return c.Number
	}
	return c.Text
}

// Record is a row for CSV (RFC 4180, by encoding/csv): "" for what is absent, "?" for what
// failed, figures in base units, texts escaped as on the screen.
func (t *Table) Record(row int) []string {
	var fields []string
	for i, c := range t.Rows[row] {
		switch {
		case c.State == Absent:
			fields = append(fields, "")
		case c.State == Failed:
			fields = append(fields, "?")
		case t.Columns[i].Unit != "":
			fields = append(fields, strconv.FormatFloat(c.Number, 'g', -1, 64))
		default:
			fields = append(fields, Escape(c.Text))
		}
	}
	return fields
}
