package live

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// clickOn clicks on the first place on the screen, below a line, that has a text.
func clickOn(t *testing.T, m *Model, below int, what string) {
	t.Helper()
	for y, l := range m.Lines() {
		l = looks.ReplaceAllString(l, "")
		if at := strings.Index(l, what); at >= 0 && y > below {
			click(m, len([]rune(l[:at])), y)
			return
		}
	}
	t.Fatalf("%q is not on the screen below line %d:\n%s", what, below, strings.Join(m.Lines(), "\n"))
}

func click(m *Model, x, y int) {
	if _, cmd := m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}); cmd != nil {
		if next := cmd(); next != nil {
			m.Update(next)
		}
	}
}

func TestMouse(t *testing.T) {
	m, _ := started(busy(60), busy(60), busy(60))
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	head := 0
	for y, l := range m.Lines() {
		if strings.Contains(l, "1 processes") {
			head = y
		}
	}
	clickOn(t, m, head-1, "2 files")
	if m.page().pane != 0 || m.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse is taken before it was asked for")
	}
	press(m, "m")
	if m.View().MouseMode != tea.MouseModeCellMotion {
		t.Error("m does not take the mouse")
	}

	clickOn(t, m, head-1, "2 files")
	if m.page().pane != 1 {
		t.Errorf("a click on a table's name shows pane %d", m.page().pane)
	}
	clickOn(t, m, head-1, "1 processes")
	clickOn(t, m, head, "COMM")
	if m.page().sort != "comm" || m.page().reverse {
		t.Errorf("a click on a head sorts by %q, reversed %v", m.page().sort, m.page().reverse)
	}
	clickOn(t, m, head, "COMM")
	if !m.page().reverse {
		t.Error("a second click does not reverse the order")
	}

	m.Lines()
	click(m, 10, head+4) // the head of the table is at head+1, its rows from head+2 on
	if m.page().cursor != 2 {
		t.Errorf("a click on the third row chooses row %d", m.page().cursor)
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if m.page().cursor != 2+wheelRows {
		t.Errorf("the wheel goes to row %d", m.page().cursor)
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	m.Lines()
	click(m, 10, head+4)
	if len(m.pages) != 2 {
		t.Errorf("a click on the chosen row leaves %d pages", len(m.pages))
	}

	press(m, "esc", "m")
	clickOn(t, m, head-1, "2 files")
	if m.page().pane != 0 {
		t.Error("m does not give the mouse back")
	}
}

// A click on a column of the heat map shows that interval.
func TestMouseGoesBackInTime(t *testing.T) {
	m, _ := started(busy(5), busy(5), busy(5))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	press(m, "m")
	m.device = "vda"
	lines := m.Lines()
	title := 0
	for y, l := range lines {
		if strings.Contains(l, "latency of vda") {
			title = y
		}
	}
	if title == 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
	for n, x := range []int{77, 78, 79} { // one column each, the newest at the right edge
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			click(m, x, title+2)
			if m.at != n {
				t.Errorf("column %d shows interval %d, not %d", x, m.at, n)
			}
			if want := n == 2; m.follow != want {
				t.Errorf("follows the newest: %v, want %v", m.follow, want)
			}
			press(m, "}")
		})
	}
}
