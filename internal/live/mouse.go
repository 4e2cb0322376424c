package live

import tea "charm.land/bubbletea/v2"

// spot is a part of one line that a click does something on: columns from one
// to before another, from 0.
type spot struct {
	line, from, to int
	click          func() tea.Cmd
}

// wheelRows is how far a step of the wheel goes.
const wheelRows = 3

// mouse does what a click or the wheel is for. It is taken from the terminal
// only after 'm': until then the terminal selects and copies text with it.
func (m *Model) mouse(msg tea.Msg) tea.Cmd {
	if !m.pointing {
		return nil
	}
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		by := map[tea.MouseButton]int{tea.MouseWheelUp: -wheelRows, tea.MouseWheelDown: wheelRows}[msg.Button]
		if m.overlay != "" {
			m.scroll += by
		} else {
			m.page().move(m.page().cursor + by)
		}
	case tea.MouseClickMsg:
		if msg.Button != tea.MouseLeft {
			return nil
		}
		m.said = ""
		for _, s := range m.spots {
			if s.line == msg.Y && msg.X >= s.from && msg.X < s.to {
				return s.click()
			}
		}
	}
	return nil
}

// spot notes where a click on the line that is drawn now does something.
func (m *Model) spot(line, from, to int, click func() tea.Cmd) {
	m.spots = append(m.spots, spot{line, from, to, click})
}

// spotRow: a click chooses a row, and another one on it opens it.
func (m *Model) spotRow(p *page, line, row int) {
	m.spot(line, 0, m.width, func() tea.Cmd {
		if p.cursor == row {
			m.open()
		} else {
			p.move(row)
		}
		return nil
	})
}

// spotHead: a click on the head of a column sorts by it, another one reverses
// the order.
func (m *Model) spotHead(p *page, g *grid, line, at int) {
	for _, i := range g.shown {
		key, from := g.columns[i].Key, at
		at += g.widths[i] + 1
		m.spot(line, from, at, func() tea.Cmd {
			switch {
			case p.ready == nil || p.ready.rows.Whole:
			case p.sort == key:
				p.reverse = !p.reverse
			default:
				p.sort, p.reverse = key, false
			}
			return nil
		})
	}
}

// spotTime: a click on the heat map shows that interval.
func (m *Model) spotTime(line, rows int, columns []column) {
	for i, c := range columns {
		x := m.width - len(columns) + i
		for y := line; y < line+rows; y++ {
			m.spot(y, x, x+1, func() tea.Cmd {
				m.playing = false
				return m.ask(m.base + c.to - 1)
			})
		}
	}
}
