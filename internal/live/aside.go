package live

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/view"
)

// Aside is what no window has: it costs the watched programs too much to be
// observed all the time, and so is watched only while the screen shows it.
type Aside struct {
	What  string // Threads or Stacks
	Query view.Query
}

// PID is the process that it is narrowed to, 0 for none.
func (a *Aside) PID() int {
	if len(a.Query.PIDs) == 0 {
		return 0
	}
	return a.Query.PIDs[0]
}

// What is watched aside.
const (
	Threads = "threads" // the states that each thread is in, interval by interval
	Stacks  = "stacks"  // the code in which a process waits, since that was opened
)

// AsideMsg is what was seen aside. It is the last one where Err is set.
type AsideMsg struct {
	of     *watching
	Tables []table.Table
	Err    error
}

// watching is an observation aside that is under way.
type watching struct {
	page   *page
	cancel context.CancelFunc
	seen   chan AsideMsg
	begun  chan struct{} // closed once it has begun
	ended  chan struct{} // closed once nothing of it is left
}

// watch begins what the page needs aside, and ends what is no longer shown.
func (m *Model) watch() tea.Cmd {
	p := m.page()
	if m.watching != nil {
		if m.watching.page == p {
			return nil
		}
		m.watching.cancel()
		m.watching = nil
	}
	if p.aside == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watching{p, cancel, make(chan AsideMsg), make(chan struct{}), make(chan struct{})}
	before := m.last
	m.watching, m.last = w, w
	feed, what := m.feed, *p.aside
	// As commands of the program: a panic in one restores the terminal, too.
	return tea.Batch(func() tea.Msg {
		close(w.begun)
		defer close(w.ended)
		defer cancel()
		before.wait() // one at a time
		to := func(t []table.Table) {
			select {
			case w.seen <- AsideMsg{of: w, Tables: t}:
			case <-ctx.Done():
			}
		}
		if err := feed.Watch(ctx, what, to); err != nil && ctx.Err() == nil {
			return AsideMsg{of: w, Err: err}
		}
		return nil
	}, w.next)
}

// next waits for what is seen.
func (w *watching) next() tea.Msg {
	select {
	case msg := <-w.seen:
		return msg
	case <-w.ended:
		return nil
	}
}

// wait waits until nothing of it is left in the kernel, if it has begun at all: a
// program that ends may leave commands out.
func (w *watching) wait() {
	if w == nil {
		return
	}
	select {
	case <-w.begun:
		<-w.ended
	default:
	}
}

// seenAside takes what was seen. While time stands still, so do these tables:
// what belongs to an interval of the past is not known.
func (m *Model) seenAside(msg AsideMsg) tea.Cmd {
	if msg.of != m.watching || msg.of == nil {
		return nil
	}
	p := msg.of.page
	if msg.Err != nil {
		p.refused = msg.Err
		return nil
	}
	if m.follow || p.seen == nil {
		p.seen = msg.Tables
		p.rounds++
	}
	return msg.of.next
}

// stopWatching ends what is watched aside, and waits until nothing is left in
// the kernel.
func (m *Model) stopWatching() {
	if m.watching != nil {
		m.watching.cancel()
	}
	m.last.wait()
}

// lastSeen is a page's view of what was seen aside last.
func (p *page) lastSeen(*sample.Window, *view.Query) []table.Table {
	all := slices.Clone(p.seen)
	for i := range all {
		all[i].Rows = slices.Clone(all[i].Rows) // they are sorted in place
	}
	return all
}

// asidePage is what is watched aside, of those that are asked for.
func asidePage(pane int, what, table string, q view.Query) *page {
	p := &page{pane: pane, query: q, aside: &Aside{what, q}, table: table}
	p.view = p.lastSeen
	return p
}

// openAside opens the threads of the process under the cursor, or that was
// opened, or the code in which it waits.
func (m *Model) openAside(what string) {
	p := m.page()
	pid := p.pid
	if pid == 0 {
		pid, _ = p.process()
	}
	if pid == 0 {
		m.said = "choose a row of a process first"
		return
	}
	if p.aside != nil && p.aside.What == what && p.pid == pid {
		return
	}
	title := "its threads"
	table := "threads"
	if what == Stacks {
		title, table = "where it waits", "stacks"
	}
	next := asidePage(p.pane, what, table, view.Query{PIDs: []int{pid}})
	next.pid, next.title = pid, title
	if p.pid != pid {
		_, comm := p.process()
		m.push(m.processPage(p.pane, pid, comm))
	}
	m.push(next)
}
