// Package table has tables as data, before they have a form: what the columns
// are, in which units, what is not known, and how a figure in a unit is written.
package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Column is one column of a table.
type Column struct {
	Key   string // for programs: lower case, with the unit ("read_bytes_per_s")
	Was   string // the key in the version before: JSON has the figure under it as well, and tables are sorted by it; "" where it has not changed
	Head  string // for people, above the column
	Unit  string // of the numbers, as Value takes it; "" in a column of text
	Flex  bool   // a name of any length: cut in its middle to what is left of the width
	Words bool   // of a flexible column that is the last: a sentence, wrapped to what is left of the width
	Least int    // columns of the terminal that it has at least; 0 is 15 for a flexible one, else as its unit needs
	Drop  int    // left out where the width does not suffice, highest first; 0 never
	Rare  bool   // left out for people where all is zero or absent
	Data  bool   // for programs only: JSON and CSV
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
	at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key || c.Was != "" && c.Was == key })
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

// Without takes columns out.
func (t *Table) Without(keys ...string) {
	for _, key := range keys {
		at := slices.Index(t.Keys(), key)
		if at < 0 {
			continue
		}
		t.Columns = slices.Delete(slices.Clone(t.Columns), at, at+1)
		for r := range t.Rows {
			t.Rows[r] = slices.Delete(t.Rows[r], at, at+1)
		}
	}
}

// Object is a table for a JSON document: its rows as objects, figures as
// numbers in base units, null for what is absent, "?" for what failed.
func (t *Table) Object() map[string]any {
	rows := make([]map[string]any, 0, len(t.Rows))
	for _, cells := range t.Rows {
		object := map[string]any{}
		for i, c := range cells {
			v := c.value(t.Columns[i].Unit)
			object[t.Columns[i].Key] = v
			if was := t.Columns[i].Was; was != "" {
				object[was] = v
			}
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

// Tenths is a number to one decimal.
func Tenths(v float64) Cell { return Num(math.Round(v*10) / 10) }

// Percent is a share in percent, to one decimal.
func Percent(share Cell) Cell {
	if share.State != Known {
		return share
	}
	return Tenths(share.Number * 100)
}
