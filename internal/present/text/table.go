package text

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/table"
)

const gap = 1 // columns of the terminal between two columns of a table

// narrowest is the default of Column.Least: the name of a process.
const narrowest = 15

// WriteRows writes a table without its title and head.
func WriteRows(w io.Writer, t *table.Table, s Style) error {
	rest := *t
	rest.Title = ""
	return write(w, &rest, s, 1)
}

// WriteTable writes a table no wider than the style says. Columns are as wide
// as their content; flexible ones share what is left.
func WriteTable(w io.Writer, t *table.Table, s Style) error { return write(w, t, s, 0) }

// WriteTables writes one table after the other, with an empty line between two.
func WriteTables(w io.Writer, tables []table.Table, s Style) error {
	for i := range tables {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return fmt.Errorf("writing the output: %w", err)
			}
		}
		if err := WriteTable(w, &tables[i], s); err != nil {
			return err
		}
	}
	return nil
}

func write(w io.Writer, t *table.Table, s Style, from int) error {
	p := &page{width: max(cmp.Or(s.Width, 80), 40), ascii: s.ASCII, color: s.Color}
	if t.Title != "" {
		p.raw(span{Escape(t.Title), bold})
	}
	grid := gridOf(t)
	shown, widths := fit(t, grid, p.width, s.Kept)
	for r, line := range grid {
		l := plain
		switch {
		case r < from:
			continue
		case r == 0:
			l = dim
		}
		for _, line := range rowLines(t.Columns, shown, widths, line) {
			p.raw(span{line, l})
		}
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
func gridOf(t *table.Table) [][]string {
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Head
	}
	grid := [][]string{head}
	for _, cells := range t.Rows {
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = show(c, t.Columns[i].Unit)
		}
		grid = append(grid, line)
	}
	return grid
}

func show(c table.Cell, unit string) string {
	switch {
	case c.State == table.Absent:
		return "-"
	case c.State == table.Failed:
		return "?"
	case unit != "":
		return table.Value(c.Number, unit)
	}
	return Escape(c.Text)
}

// Kept are the columns of tables that were written before: one that is written again,
// interval after interval, has its columns where they were. The zero value is ready
// for use, by one goroutine.
type Kept struct {
	columns map[keptKey]kept
}

// keptKey is a column of a table.
type keptKey struct{ table, column string }

// kept is how wide its widest content was, and whether it was shown although it is rare.
type kept struct {
	width int
	shown bool
}

// of is what is kept of a column, with what it is now.
func (k *Kept) of(t *table.Table, column int, now kept) kept {
	if k == nil {
		return now
	}
	key := keptKey{t.Key, t.Columns[column].Key}
	was := k.columns[key]
	now = kept{max(now.width, was.width), now.shown || was.shown}
	if k.columns == nil {
		k.columns = map[keptKey]kept{}
	}
	k.columns[key] = now
	return now
}

// fit chooses the columns that there is room for, and their widths.
func fit(t *table.Table, grid [][]string, width int, before *Kept) (shown []int, widths []int) {
	columns, rows := t.Columns, t.Rows
	widths = make([]int, len(columns))
	for _, line := range grid {
		for i, cell := range line {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	for i, c := range columns {
		if c.Data {
			continue
		}
		now := before.of(t, i, kept{widths[i], !c.Rare || slices.ContainsFunc(rows, func(r []table.Cell) bool {
			return r[i].State == table.Failed || r[i].State == table.Known && (r[i].Number != 0 || r[i].Text != "")
		})})
		widths[i] = now.width
		if now.shown {
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

// rowLines are the lines of a row: several where a sentence at its end is wrapped.
func rowLines(columns []table.Column, shown, widths []int, cells []string) []string {
	last := shown[len(shown)-1]
	if !columns[last].Words || Width(cells[last]) <= widths[last] {
		return []string{row(columns, shown, widths, cells)}
	}
	var lines []string
	for i, words := range Wrap(cells[last], widths[last]) {
		part := make([]string, len(cells))
		if i == 0 {
			copy(part, cells)
		}
		part[last] = words
		lines = append(lines, row(columns, shown, widths, part))
	}
	return lines
}

// row is one line: texts to the left, numbers to the right.
func row(columns []table.Column, shown, widths []int, line []string) string {
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

// Record is a row for CSV (RFC 4180, by encoding/csv): "" for what is absent, "?" for what
// failed, figures in base units, texts escaped as on the screen.
func Record(t *table.Table, row int) []string {
	var fields []string
	for i, c := range t.Rows[row] {
		switch {
		case c.State == table.Absent:
			fields = append(fields, "")
		case c.State == table.Failed:
			fields = append(fields, "?")
		case t.Columns[i].Unit != "":
			fields = append(fields, strconv.FormatFloat(c.Number, 'g', -1, 64))
		default:
			fields = append(fields, Escape(c.Text))
		}
	}
	return fields
}

// Records are all rows.
func Records(t *table.Table) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := range t.Rows {
			if !yield(Record(t, i)) {
				return
			}
		}
	}
}
