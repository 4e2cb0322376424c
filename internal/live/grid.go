package live

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/table"
)

// grid is where the columns of a table stand. It depends on the table's
// columns and the width alone, so that nothing moves from one interval to the
// next; a figure that is wider than its column widens it.
type grid struct {
	columns []table.Column
	shown   []int
	widths  []int
	left    int // columns that there is no room for
}

// unitWidth is as wide as figures in a unit get, as a rule: "1023 KiB".
func unitWidth(unit string) int {
	switch strings.TrimSuffix(unit, "/s") {
	case "bytes":
		return 8
	case "seconds":
		return 7
	}
	return 6
}

// Names get so wide at most; paths as wide as there is room.
func mostWide(key string) int {
	switch key {
	case "comm":
		return 15
	case "why", "what":
		return 11
	case "device":
		return 12
	}
	return 400
}

// gridOf places the columns in width columns of the terminal. rows are those
// that are seen.
func gridOf(t *table.Table, rows [][]table.Cell, width int) *grid {
	g := &grid{columns: t.Columns, widths: make([]int, len(t.Columns))}
	for i, c := range t.Columns {
		if c.Data || c.Rare && !slices.ContainsFunc(t.Rows, func(r []table.Cell) bool {
			return r[i].State == table.Failed || r[i].State == table.Known && r[i].Number != 0
		}) {
			continue
		}
		g.shown = append(g.shown, i)
		switch {
		case c.Flex:
			g.widths[i] = cmp.Or(c.Least, 12)
		case c.Unit != "":
			g.widths[i] = max(text.Width(c.Head), cmp.Or(c.Least, unitWidth(c.Unit)))
		case c.Key == "pid":
			g.widths[i] = 7
		default:
			g.widths[i] = max(text.Width(c.Head), 6)
		}
		if c.Flex {
			continue
		}
		for _, r := range rows {
			g.widths[i] = max(g.widths[i], text.Width(g.cell(r, i)))
		}
	}
	for g.rigid() > width {
		worst := slices.MaxFunc(g.shown, func(a, b int) int { return cmp.Compare(g.columns[a].Drop, g.columns[b].Drop) })
		if g.columns[worst].Drop == 0 { // the rightmost, but never the first
			if len(g.shown) == 1 {
				break
			}
			worst = g.shown[len(g.shown)-1]
		}
		g.shown = slices.DeleteFunc(g.shown, func(i int) bool { return i == worst })
		g.left++
	}
	g.stretch(width - g.rigid())
	return g
}

// rigid is what the columns take at least, a space between each two.
func (g *grid) rigid() int {
	n := -1
	for _, i := range g.shown {
		n += 1 + g.widths[i]
	}
	return n
}

// stretch gives what is left to the flexible columns: names first, up to what
// they need, then paths in equal parts.
func (g *grid) stretch(room int) {
	for _, names := range []bool{true, false} {
		var flex []int
		for _, i := range g.shown {
			if g.columns[i].Flex && (mostWide(g.columns[i].Key) < 400) == names {
				flex = append(flex, i)
			}
		}
		for k, i := range flex {
			part := room / (len(flex) - k)
			if names { // the first says most
				part = room
			}
			more := max(0, min(part, mostWide(g.columns[i].Key)-g.widths[i]))
			g.widths[i] += more
			room -= more
		}
	}
}

// cell is the text of a cell.
func (g *grid) cell(r []table.Cell, i int) string {
	switch c := r[i]; {
	case c.State == table.Absent:
		return "-"
	case c.State == table.Failed:
		return "?"
	case g.columns[i].Unit != "":
		return table.Value(c.Number, g.columns[i].Unit)
	default:
		return text.Escape(c.Text)
	}
}

// head is the line above the rows; the column that they are sorted by is
// marked.
func (g *grid) head(l *line, sorted string, reversed bool) *line {
	for k, i := range g.shown {
		if k > 0 {
			l.put(" ", faint)
		}
		c, look := g.columns[i], faint
		head := c.Head
		if c.Key == sorted {
			look = strong + ";4"
			head = "↓" + head
			if reversed {
				head = "↑" + c.Head
			}
		}
		if text.Width(head) > g.widths[i] {
			head = c.Head
		}
		head = text.End(head, g.widths[i])
		pad := strings.Repeat(" ", g.widths[i]-text.Width(head))
		if c.Unit != "" {
			l.put(pad, faint).put(head, look)
		} else {
			l.put(head, look).put(pad, faint)
		}
	}
	return l
}

// row is one row: texts to the left, numbers to the right.
func (g *grid) row(l *line, r []table.Cell, k look) *line {
	var b strings.Builder
	for n, i := range g.shown {
		if n > 0 {
			b.WriteByte(' ')
		}
		s := text.Middle(g.cell(r, i), g.widths[i])
		if g.columns[i].Unit != "" {
			b.WriteString(strings.Repeat(" ", max(0, g.widths[i]-text.Width(s))) + s)
		} else {
			b.WriteString(text.Pad(s, g.widths[i]))
		}
	}
	l.put(b.String(), k)
	return l
}
