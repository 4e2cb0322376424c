package live

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// key does what a key is for.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	m.said = ""
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		if m.terminal.stop == nil {
			m.said = "there is no shell to return to; q quits"
		}
		return m.terminal.stop
	case name == "ctrl+l":
		return tea.ClearScreen
	case m.typing:
		m.typed(name, k.Text)
		return nil
	case m.overlay != "":
		return m.overlaid(name)
	}
	if cmd, ok := m.timeKey(name); ok {
		return cmd
	}
	m.tableKey(name)
	switch name {
	case "q":
		return tea.Quit
	case "?", "f1":
		m.overlay, m.scroll = "keys", 0
	case "d":
		m.overlay, m.scroll = "verdict", 0
	case "v":
		m.verdict = !m.verdict
		m.want()
		return m.judge()
	case "h":
		m.heat = !m.heat
		m.want()
	case "m":
		m.pointing = !m.pointing
		m.said = "the mouse selects text again; m takes it back"
		if m.pointing {
			m.said = "click a row, a table's name, a column's head or a time; m leaves the mouse to the terminal"
		}
	}
	return nil
}

// timeKey goes back and forth in time.
func (m *Model) timeKey(name string) (cmd tea.Cmd, ok bool) {
	switch name {
	case "space", " ", "p":
		switch {
		case m.o.Past != "" && m.playing:
			m.playing = false
		case m.o.Past != "":
			m.playing = true
			if m.at >= m.newest() {
				return tea.Sequence(m.ask(m.first), func() tea.Msg { return playMsg{} }), true
			}
			return m.play(), true
		case m.follow:
			m.follow = false
		default:
			return m.ask(m.newest()), true
		}
		return nil, true
	case "left":
		return m.hold(-1), true
	case "right":
		return m.hold(1), true
	case "shift+left", "[":
		return m.hold(-10), true
	case "shift+right", "]":
		return m.hold(10), true
	case "{":
		m.playing = false
		return m.ask(m.first), true
	case "}":
		m.playing = false
		return m.ask(m.newest()), true
	}
	return nil, false
}

// hold steps by hand, which ends the playing.
func (m *Model) hold(by int) tea.Cmd {
	m.playing = false
	return m.step(by)
}

// tableKey moves in the table, sorts it, filters it and opens its rows.
func (m *Model) tableKey(name string) {
	p := m.page()
	switch name {
	case "up", "k":
		p.move(p.cursor - 1)
	case "down", "j":
		p.move(p.cursor + 1)
	case "pgup", "ctrl+u":
		p.move(p.cursor - max(m.height/3, 1))
	case "pgdown", "ctrl+d":
		p.move(p.cursor + max(m.height/3, 1))
	case "home", "g":
		p.move(0)
	case "end", "G":
		p.move(1 << 30)
	case "<", ",":
		p.sortBy(-1)
	case ">", ".":
		p.sortBy(1)
	case "r":
		p.reverse = !p.reverse
	case "/":
		m.typing = true
	case "enter":
		m.open()
	case "t":
		m.openAside(Threads)
	case "s":
		m.openAside(Stacks)
	case "esc", "backspace":
		if p.filter != "" {
			p.filter = ""
		} else {
			m.back()
		}
	case "tab":
		m.choose((p.pane + 1) % len(panes()))
	case "shift+tab":
		m.choose((p.pane + len(panes()) - 1) % len(panes()))
	default:
		if len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(panes()) {
			m.choose(int(name[0] - '1'))
		}
	}
}

// choose shows a pane.
func (m *Model) choose(pane int) {
	m.pages = []*page{m.paneAt(pane)}
	m.want()
}

// typed edits the filter.
func (m *Model) typed(name, chars string) {
	p := m.page()
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, p.filter = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(p.filter)
		p.filter = p.filter[:len(p.filter)-n]
	case "ctrl+u":
		p.filter = ""
	case "up", "down":
		m.typing = false
		m.tableKey(name)
	default:
		m.paste(chars)
	}
}

// mostFilter is how long a filter may be.
const mostFilter = 200

// paste adds to the filter that is being typed.
func (m *Model) paste(s string) {
	if p := m.page(); m.typing && len(p.filter)+len(s) <= mostFilter {
		p.filter += strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, s)
	}
}

// overlaid is for keys while something lies over the tables.
func (m *Model) overlaid(name string) tea.Cmd {
	switch name {
	case "q", "esc", "enter", "d", "?", "f1", "backspace":
		m.overlay = ""
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup", "ctrl+u":
		m.scroll -= m.height / 2
	case "pgdown", "ctrl+d", "space", " ":
		m.scroll += m.height / 2
	case "home", "g":
		m.scroll = 0
	case "1", "2", "3", "4", "5", "6", "7", "8":
		m.overlay = ""
		m.tableKey(name)
	default:
		if cmd, ok := m.timeKey(name); ok {
			return cmd
		}
	}
	return nil
}
