package live

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// The least that anything can be read in.
const (
	leastWidth  = 40
	leastHeight = 10
)

// View implements tea.Model.
func (m *Model) View() tea.View {
	lines := strings.Join(m.Lines(), "\n")
	if m.o.ASCII {
		lines = text.ASCII(lines)
	}
	v := tea.NewView(lines)
	v.AltScreen = true
	if m.pointing {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// Lines is the screen: as many lines as it has, none wider than it.
func (m *Model) Lines() []string {
	if m.width < leastWidth || m.height < leastHeight {
		return m.tooSmall()
	}
	m.spots = m.spots[:0]
	lines := append(m.verdictLines(), m.resources()...)
	footer := m.footer()
	rest := m.height - len(lines) - 1
	switch {
	case m.overlay == "keys":
		lines = append(lines, m.scrolled(m.help(), rest)...)
	case m.overlay == "verdict":
		lines = append(lines, m.scrolled(m.details(), rest)...)
	default:
		lines = append(lines, m.body(len(lines), rest)...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return append(lines[:m.height-1], footer)
}

// tooSmall says so, in as much room as there is.
func (m *Model) tooSmall() []string {
	lines := text.Wrap(fmt.Sprintf("iocause live needs %d columns and %d lines; q quits", leastWidth, leastHeight), max(m.width, 2))
	return lines[:min(len(lines), max(m.height, 1))]
}

// body is the heat map and the tables, from a line of the screen on, in so many
// lines.
func (m *Model) body(at, rest int) []string {
	if m.window == nil {
		return nil
	}
	var lines []string
	if rows := m.heatRows(); rows > 0 {
		lines = m.heatMap(m.device, rows)
		m.spotTime(at+1, rows, m.columns(max(m.width-heatLabel, 1)))
	}
	return append(lines, m.tables(at+len(lines), rest-len(lines))...)
}

// heatRows is how many lines the heat map has at most below its title.
func (m *Model) heatRows() int {
	opened := len(m.pages) > 1 && m.page().query.Device == ""
	switch {
	case !m.heat || m.height < 20 || opened && m.height < 32:
		return 0
	case m.height < 28:
		return 4
	case m.height < 40:
		return 7
	}
	return 12
}

// tables are the page's, from a line of the screen on, in so many lines.
func (m *Model) tables(at, rest int) []string {
	p := m.page()
	r := p.refresh(m.window)
	note := m.note(r)
	if note != "" {
		rest--
	}
	var upper, lower []string
	for i := range r.upper {
		upper = append(upper, m.small(&r.upper[i])...)
	}
	for i := range r.lower {
		lower = append(lower, m.small(&r.lower[i])...)
	}
	rest-- // the bar
	upper = upper[:min(len(upper), rest/2)]
	rest -= len(upper)
	need := 1 + max(len(r.rows.Rows), 1)
	room := max(rest-need, rest/3) // for what stands below
	lower = lower[:max(0, min(len(lower), room))]
	rows, dropped := m.rows(p, r, at+1+len(upper), rest-len(lower))
	lines := append([]string{m.bar(p, r, at, dropped)}, upper...)
	lines = append(append(lines, rows...), lower...)
	if note != "" {
		for len(lines) < rest+1+len(upper) {
			lines = append(lines, "")
		}
		lines = append(lines, note)
	}
	return lines
}

// small is a table that the cursor is not in, all of its rows.
func (m *Model) small(t *table.Table) []string {
	if len(t.Rows) == 0 {
		return nil
	}
	g := gridOf(t, t.Rows, m.width-2)
	lines := []string{g.head(m.line().put("  ", plain), "", false).String()}
	if t.Title != "" {
		lines = append([]string{m.line().put(" "+text.Escape(t.Title), titled).String()}, lines...)
	}
	for _, r := range t.Rows {
		lines = append(lines, g.row(m.line().put("  ", plain), r, plain).String())
	}
	return lines
}

// rows are the head and the rows around the cursor, from a line of the screen on.
func (m *Model) rows(p *page, r *ready, at, room int) (lines []string, dropped int) {
	room = max(room-1, 1)
	p.top = min(max(p.top, p.cursor-room+1), p.cursor)
	p.top = max(0, min(p.top, len(r.rows.Rows)-room))
	seen := r.rows.Rows[min(p.top, len(r.rows.Rows)):min(p.top+room, len(r.rows.Rows))]
	g := gridOf(&r.rows, seen, m.width-2)
	lines = append(lines, g.head(m.line().put("  ", plain), p.sort, p.reverse).String())
	m.spotHead(p, g, at, 2)
	if len(seen) == 0 {
		lines = append(lines, m.line().put("  "+m.empty(p, r), faint).String())
	}
	for i, row := range seen {
		m.spotRow(p, at+1+i, p.top+i)
		if p.top+i == p.cursor {
			lines = append(lines, g.row(m.line().put("> ", strong), row, chosen).String())
			continue
		}
		lines = append(lines, g.row(m.line().put("  ", plain), row, plain).String())
	}
	return lines, g.left
}

// empty is why there are no rows.
func (m *Model) empty(p *page, r *ready) string {
	switch {
	case p.filter != "" && r.all > 0:
		return fmt.Sprintf("no name in %d rows has that; Esc shows all", r.all)
	case p.refused != nil:
		return text.Escape(p.refused.Error())
	case p.pid != 0 && m.o.Past == "" && m.feed.Ended(p.pid):
		return "the process has ended; Left goes back to what it did"
	case p.aside != nil && p.seen == nil:
		return "being watched; the first figures come after an interval"
	case p.aside != nil:
		return "nothing so far"
	case m.state.Loading:
		return "the BPF programs for this are being loaded"
	case m.o.Past == "" && m.state.Refused != "":
		return "not known: " + text.Escape(m.state.Refused)
	}
	return "nothing in this interval"
}

// note is the line for what a reader must know, "" for none.
func (m *Model) note(r *ready) string {
	said := m.said
	if m.failed != nil {
		said = "watching ended: " + m.failed.Error()
	}
	if said == "" && m.page().aside != nil && m.page().seen != nil && !m.follow {
		said = "this is of when it was paused: of past intervals neither threads nor stacks are known"
	}
	if said == "" && len(r.notes) > 0 && !m.state.Loading {
		said = r.notes[0]
		if n := len(r.notes) - 1; n > 0 {
			said += fmt.Sprintf(" (and %d more)", n)
		}
	}
	if said == "" {
		return ""
	}
	return m.line().put(" ! ", warn).put(text.Escape(strings.ReplaceAll(said, "\n", " ")), faint).String()
}

// bar says on a line which table is shown, and how.
func (m *Model) bar(p *page, r *ready, at, dropped int) string {
	l := m.line()
	said := ""
	if n := len(r.rows.Rows); p.filter != "" {
		said = fmt.Sprintf("%d of %d", n, r.all)
	} else if n > 0 {
		said = sample.Counted(n, "row")
	}
	if dropped > 0 {
		if m.width >= 100 && said != "" {
			said += ", "
		} else if p.filter == "" {
			said = ""
		}
		said = strings.TrimSpace(said + fmt.Sprintf(" -%d col", dropped))
	}
	if m.typing {
		return l.put(" filter: ", titled).put(text.Escape(p.filter), strong).put("▏", strong).put("  Enter keeps it, Esc ends it", faint).right(said+" ", faint).String()
	}
	all := panes()
	if len(m.pages) > 1 {
		l.put(" "+all[p.pane].name, titled)
		for _, x := range m.pages[1:] {
			l.put(" › ", faint).put(x.title, titled)
		}
		l.put("  Esc goes back", faint)
	} else {
		for i, x := range all {
			name := x.name
			if m.width < 100 {
				name = cmp.Or(x.short, name)
			}
			name = fmt.Sprintf("%d %s", i+1, name)
			m.spot(at, l.used, l.used+len(name)+1, func() tea.Cmd { m.choose(i); return nil })
			if i == p.pane {
				l.put("[", strong).put(name, titled).put("]", strong)
				continue
			}
			l.put(" "+name, faint)
			if m.width >= 100 {
				l.put(" ", faint)
			}
		}
	}
	if p.filter != "" {
		l.put("  /"+text.Escape(p.filter), warn)
	}
	return l.right(said+" ", faint).String()
}

// footer is the main keys, and what the screen takes from the machine.
func (m *Model) footer() string {
	l := m.line()
	own := ""
	if m.cost.Known {
		own = fmt.Sprintf("iocause %s CPU, %s ", table.Value(m.cost.CPU, "ratio"), table.Value(float64(m.cost.Bytes), "bytes"))
		if m.cost.BPF > 0 {
			own = fmt.Sprintf("iocause %s + kernel %s CPU, %s ", table.Value(m.cost.CPU, "ratio"), table.Value(m.cost.BPF, "ratio"), table.Value(float64(m.cost.Bytes), "bytes"))
		}
		own = strings.ReplaceAll(own, " %", "%")
	}
	full := l.width
	l.width -= text.Width(own) + 1
	for i, k := range m.mainKeys() {
		lead := " "
		if i > 0 {
			lead = "  "
		}
		if l.room() < text.Width(lead+k[0]+" "+k[1]) {
			break
		}
		l.put(lead, plain).put(k[0], strong).put(" "+k[1], faint)
	}
	l.width = full
	return l.right(own, faint).String()
}

// mainKeys are the keys of what is shown, and what they do.
func (m *Model) mainKeys() [][2]string {
	switch {
	case m.typing:
		return [][2]string{{"Enter", "keep the filter"}, {"Esc", "show all rows"}}
	case m.overlay != "":
		return [][2]string{{"Esc", "back"}, {"↑↓", "scroll"}, {"1-8", "tables"}, {"←→", "time"}}
	}
	return [][2]string{{"?", "keys"}, {"q", "quit"}, {"/", "filter"}, {"<>", "sort"}, {"Enter", "open"}, {"d", "verdict"}, {"←→", "time"},
		{"Space", m.spaceDoes()}, {"1-8", "tables"}, {"h", "heat map"}}
}

func (m *Model) spaceDoes() string {
	switch {
	case m.o.Past != "" && !m.playing:
		return "play"
	case m.follow || m.playing:
		return "pause"
	}
	return "go on"
}

// scrolled is a part of a text that is longer than the screen.
func (m *Model) scrolled(all []string, rest int) []string {
	m.scroll = max(0, min(m.scroll, len(all)-rest))
	return all[m.scroll:min(m.scroll+rest, len(all))]
}

// details is the verdict as 'iocause diagnose' says it.
func (m *Model) details() []string {
	_, r := m.latest()
	if r == nil {
		return []string{"", m.line().put(" there is no verdict of this time yet", faint).String()}
	}
	var b bytes.Buffer
	if err := text.Write(&b, r, text.Style{Width: min(m.width, 120), Color: m.o.Color, Whole: true}); err != nil {
		return []string{m.line().put(err.Error(), bad).String()}
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}
