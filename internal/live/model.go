// Package live is the machine in one screen that goes on: the verdict, the
// resources, a heat map of latencies, tables to sort, filter and open. The
// model is told of windows and knows nothing of where they come from: what is
// watched now, a recording, an incident and an agent's history look the same.
package live

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/view"
)

// Feed is where windows come from. Windows have numbers from 0 on; none is
// changed after it was handed out. Safe for concurrent use.
type Feed interface {
	// Run hands out one window after the other, until the context ends or there
	// are no more.
	Run(ctx context.Context, to func([]Interval)) error
	// At is a window that was handed out, as long as it is kept.
	At(n int) (*sample.Window, error)
	// Judge judges the time that ends with a window.
	Judge(n int) (*diagnose.Report, error)
	// Want says which sources the screen reads. Others need not be read.
	Want(sources []string)
	// Watch hands out tables of what no window has, interval by interval, until the
	// context ends. It fails where that cannot be had.
	Watch(ctx context.Context, what Aside, to func([]table.Table)) error
	// Ended tells of a process that it is gone for good.
	Ended(pid int) bool
}

// Interval is a window that has just ended.
type Interval struct {
	N      int
	First  int // the oldest that is kept
	Window *sample.Window
	Cost   Cost
	State  State
}

// Cost is what the screen takes from the machine.
type Cost struct {
	CPU   float64 // of one processor, in the last window: iocause itself
	BPF   float64 // ... its kernel programs, charged to what they watch
	Bytes int64   // most memory so far
	Known bool    // false for what was recorded
}

// State is how far the kernel programs are.
type State struct {
	Loading bool   // they are being loaded
	Ready   bool   // the newest window has all that a verdict needs
	Refused string // why they cannot be loaded; "" when they can
}

// Options say what the screen shows.
type Options struct {
	Past    string        // what is played back, escaped; "" for this machine now
	Every   time.Duration // meant length of a window
	Color   bool
	ASCII   bool       // no other characters
	Query   view.Query // narrows all tables
	Verdict bool       // judge from the start on
	Sources []string   // that a verdict needs
}

// Model is the screen. It changes with messages alone.
type Model struct {
	o             Options
	feed          Feed
	width, height int

	strips  []strip
	base    int // number of strips[0]
	first   int // the oldest window that is kept
	at      int // window that is shown
	window  *sample.Window
	follow  bool // the newest window is shown as it comes
	playing bool // one window after the other is shown
	asked   int  // window that was asked for and has not come, -1 for none

	verdicts map[int]*diagnose.Report // by the window that they end with
	marks    map[int]mark             // the same, for longer
	judging  bool
	rest     time.Time // no verdict before this: judging shall take little
	verdict  bool      // wanted

	cost   Cost
	state  State
	pages  []*page
	device string // of the heat map; "" for the busiest
	heat   bool   // the heat map is shown

	overlay  string // "keys", "verdict" or ""
	scroll   int    // of the overlay
	typing   bool   // the filter
	said     string // in the notes' line until the next key
	done     bool   // there will be no more windows
	spots    []spot // where a click does something, of what was drawn last
	pointing bool   // the mouse is taken from the terminal
	failed   error

	watching *watching // aside, for the page that is shown; nil for nothing
	last     *watching // that was begun, perhaps not at its end yet; nil for none

	terminal terminal
}

// terminal is what the screen asks of the program that it runs in; nil where
// it runs in none.
type terminal struct {
	start, stop tea.Cmd
}

// New makes the screen.
func New(feed Feed, o Options) *Model {
	m := &Model{o: o, feed: feed, width: 80, height: 24, follow: true, asked: -1, verdict: o.Verdict, heat: o.Verdict,
		verdicts: map[int]*diagnose.Report{}, marks: map[int]mark{}}
	m.pages = []*page{m.paneAt(0)}
	m.want()
	return m
}

// IntervalsMsg are windows that have ended.
type IntervalsMsg []Interval

// EndMsg tells that there are no more windows, and why.
type EndMsg struct{ Err error }

// WindowMsg is a window that was asked for.
type WindowMsg struct {
	N      int
	Window *sample.Window
	Err    error
}

// VerdictMsg is a verdict of the time that ends with a window.
type VerdictMsg struct {
	N      int
	Report *diagnose.Report
	Err    error
	Took   time.Duration
}

// playMsg shows the next window.
type playMsg struct{}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.terminal.start }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, tea.Batch(m.key(msg), m.watch())
	case tea.MouseMsg:
		return m, tea.Batch(m.mouse(msg), m.watch())
	case tea.PasteMsg:
		m.paste(msg.Content)
	case IntervalsMsg:
		return m, m.intervals(msg)
	case EndMsg:
		m.done, m.failed = true, msg.Err
		if msg.Err != nil && len(m.strips) == 0 {
			return m, tea.Quit
		}
		return m, m.judge()
	case WindowMsg:
		return m, m.arrived(msg)
	case VerdictMsg:
		return m, m.judged(msg)
	case AsideMsg:
		return m, m.seenAside(msg)
	case playMsg:
		if m.playing {
			return m, m.play()
		}
	}
	return m, nil
}

// Err is why the windows ended, nil where nothing failed.
func (m *Model) Err() error { return m.failed }

// mostStrips is how many columns the sparklines and the heat map have at most.
const mostStrips = 1024

// intervals takes windows that have ended.
func (m *Model) intervals(all []Interval) tea.Cmd {
	for i := range all {
		l := &all[i]
		m.strips = append(m.strips, stripOf(l.Window))
		if m.o.Past == "" && len(m.strips) > mostStrips {
			m.strips = slices.Delete(m.strips, 0, 1)
			m.base++
		}
		m.first = max(l.First, m.base)
		m.cost, m.state = l.Cost, l.State
		if m.follow {
			m.show(l.N, l.Window)
		}
	}
	if m.at < m.first && m.window != nil && !m.follow { // it is there until another one is asked for
		m.said = "this window was already dropped; showing the oldest"
	}
	return m.judge()
}

// newest is the number of the newest window.
func (m *Model) newest() int { return m.base + len(m.strips) - 1 }

// index is where the strip of a window is.
func (m *Model) index(n int) int { return min(max(n-m.base, 0), len(m.strips)-1) }

// show shows a window.
func (m *Model) show(n int, w *sample.Window) {
	m.at, m.window, m.asked = n, w, -1
	if m.device == "" || m.follow && len(m.pages) == 1 {
		m.device = m.busiest()
	}
}

// busiest is the device with most time busy of late. It is another one only
// where that is clear.
func (m *Model) busiest() string {
	by := map[string]float64{}
	end := m.index(m.at) + 1
	for _, s := range m.strips[max(0, end-60):end] {
		for name, d := range s.disks {
			by[name] += d.busy*s.length.Seconds() + 1e-15*(d.read+d.written)
		}
	}
	best := m.device
	for name, busy := range by {
		if busy > 1.5*by[best] || best == "" || by[best] == busy && name < best && by[m.device] == 0 {
			best = name
		}
	}
	return best
}

// step shows the window so many on.
func (m *Model) step(by int) tea.Cmd {
	from := m.at
	if m.asked >= 0 {
		from = m.asked
	}
	return m.ask(from + by)
}

// ask asks for a window. The newest one is followed where more come.
func (m *Model) ask(n int) tea.Cmd {
	if len(m.strips) == 0 {
		return nil
	}
	n = min(max(n, m.first), m.newest())
	m.follow = n == m.newest() && !m.done && m.o.Past == ""
	m.asked = n
	feed := m.feed
	return func() tea.Msg {
		w, err := feed.At(n)
		return WindowMsg{n, w, err}
	}
}

// arrived shows a window that was asked for, unless another one was since.
func (m *Model) arrived(msg WindowMsg) tea.Cmd {
	if msg.N != m.asked {
		return nil
	}
	m.asked = -1
	if msg.Err != nil {
		m.said = msg.Err.Error()
		return nil
	}
	m.show(msg.N, msg.Window)
	return m.judge()
}

// play shows the next window, and then waits as long as that lasted.
func (m *Model) play() tea.Cmd {
	if m.at >= m.newest() {
		m.playing = false
		return nil
	}
	wait := min(m.strips[m.index(m.at+1)].length, 2*time.Second)
	return tea.Batch(m.step(1), tea.Tick(wait, func(time.Time) tea.Msg { return playMsg{} }))
}

// page is the one that is shown.
func (m *Model) page() *page { return m.pages[len(m.pages)-1] }

// want tells the feed what the screen reads.
func (m *Model) want() {
	sources := slices.Clone(m.page().sources)
	if m.verdict {
		sources = append(sources, m.o.Sources...)
	}
	if m.heat {
		sources = append(sources, "blockio")
	}
	m.feed.Want(sources)
}
