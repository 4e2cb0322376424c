package live

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/table"
)

// asides runs what a key asks for until nothing more comes of it.
type asides struct {
	t    *testing.T
	m    *Model
	msgs chan tea.Msg
}

func (a *asides) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				a.run(c)
			}
		default:
			a.msgs <- msg
		}
	}()
}

func (a *asides) press(key string) {
	msg := tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
	if key == "esc" {
		msg = tea.KeyPressMsg{Code: tea.KeyEscape}
	}
	_, cmd := a.m.Update(msg)
	a.run(cmd)
}

// take takes one message of what is watched aside.
func (a *asides) take() {
	for {
		msg := <-a.msgs
		_, cmd := a.m.Update(msg)
		a.run(cmd)
		if _, ok := msg.(AsideMsg); ok {
			return
		}
	}
}

func (a *asides) shows(what string) {
	a.t.Helper()
	if all := looks.ReplaceAllString(strings.Join(a.m.Lines(), "\n"), ""); !strings.Contains(all, what) {
		a.t.Errorf("the screen does not show %q:\n%s", what, all)
	}
	fits(a.t, a.m, what)
}

func threadTable(comm string, cpu float64) []table.Table {
	return []table.Table{{Key: "threads", Columns: []table.Column{
		{Key: "tid", Head: "TID"}, {Key: "comm", Head: "COMM", Flex: true}, {Key: "pid", Head: "PID"}, {Key: "process", Head: "PROCESS", Flex: true, Drop: 7},
		{Key: "cpu", Head: "cpu", Unit: "count", Least: 4},
	}, Rows: [][]table.Cell{{table.Str("31"), table.Str(comm), table.Str("3"), table.Str("mother"), table.Num(cpu)}}}}
}

// What is watched aside is shown as long as its page is, one at a time, and
// stands still with the rest of the screen.
func TestWatchedAside(t *testing.T) {
	m, feed := started(busy(5))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	a := &asides{t, m, make(chan tea.Msg, 10)}
	given, running := make(chan []table.Table), make(chan string, 10)
	watched := func(name string) func(context.Context, func([]table.Table)) error {
		return func(ctx context.Context, to func([]table.Table)) error {
			running <- name
			for {
				select {
				case next := <-given:
					to(next)
				case <-ctx.Done():
					running <- "no " + name
					return nil
				}
			}
		}
	}
	feed.aside = map[string]func(context.Context, func([]table.Table)) error{Threads: watched(Threads), Stacks: watched(Stacks)}
	is := func(want string) {
		t.Helper()
		if got := <-running; got != want {
			t.Fatalf("%q began or ended, want %q", got, want)
		}
	}

	a.press("8")
	is(Threads)
	a.shows("being watched")
	given <- threadTable("wor\x1b[2Jker", 61.5)
	a.take()
	a.shows(`wor\x1b[2Jker`)
	a.shows("61.5")

	a.press("p") // pause: it goes on, and is not shown
	given <- threadTable("later", 99)
	a.take()
	a.shows("61.5")
	a.shows("when it was paused")
	a.press("p")
	given <- threadTable("later", 99)
	a.take()
	a.shows("later")

	a.press("s") // of the process under the cursor: what was watched ends first
	is("no " + Threads)
	is(Stacks)
	a.shows("mother (pid 3)")
	a.shows("where it waits")
	if got := m.watching.page.aside.PID(); got != 3 {
		t.Errorf("the stacks are of process %d", got)
	}
	a.press("esc")
	is("no " + Stacks)
	a.press("8")
	is(Threads)
	m.stopWatching()
	is("no " + Threads)
}

// Why something cannot be watched is on the screen.
func TestWatchingAsideFails(t *testing.T) {
	m, feed := started(busy(5))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	feed.aside = map[string]func(context.Context, func([]table.Table)) error{
		Threads: func(context.Context, func([]table.Table)) error { return errors.New("the kernel refuses it") },
	}
	a := &asides{t, m, make(chan tea.Msg, 10)}
	a.press("8")
	a.take()
	a.shows("the kernel refuses it")
	m.stopWatching()
}
