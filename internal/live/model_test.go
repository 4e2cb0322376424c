package live

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// none is a feed that has no more windows than it was given.
type none struct {
	windows []*sample.Window
	wanted  []string
	ended   map[int]bool
	aside   map[string]func(context.Context, func([]table.Table)) error // what Watch does
}

func (n *none) Run(context.Context, func([]Interval)) error { return nil }

func (n *none) At(i int) (*sample.Window, error) {
	if i < 0 || i >= len(n.windows) {
		return nil, errors.New("not there")
	}
	return n.windows[i], nil
}

func (n *none) Judge(i int) (*diagnose.Report, error) {
	return diagnose.Judge(n.windows[i], diagnose.Target{}), nil
}
func (n *none) Want(sources []string) { n.wanted = sources }
func (n *none) Watch(ctx context.Context, a Aside, to func([]table.Table)) error {
	return n.aside[a.What](ctx, to)
}
func (n *none) Ended(pid int) bool { return n.ended[pid] }

// hostile are names that would garble a terminal.
var hostile = []string{"\x1b[2J\x1b]0;owned\x07", "two\nlines", "日本語の名前とても長い", "\u202egnp.exe", "a\xff\xfeb", "é́́́́́", "", "plain"}

// busy is a second of so many processes, each with a file.
func busy(processes int) *sample.Window {
	start := time.Unix(1700000000, 0)
	r := sample.NewRecorder(start)
	r.At(start.Add(time.Second))
	put := func(m sample.Metric, e sample.Entity, v float64) { r.Put(m, e, v, "test") }
	put(sample.CPUUser, sample.Entity{}, 1)
	put(sample.CPUIdle, sample.Entity{}, 1)
	put(sample.WaitIO, sample.Entity{}, 0)
	for i := range processes {
		name := hostile[i%len(hostile)]
		pid, file := i+1, sample.FileID{Dev: 1, Ino: uint64(i + 1)}
		e := sample.Entity{PID: pid}
		r.PutProcess(pid, sample.Process{Comm: name, MemoryCgroup: "/" + name})
		r.PutFile(file, sample.File{Path: "/" + name, Size: 1, Device: "vda"})
		put(sample.ProcUser, e, float64(i%7)/10)
		put(sample.ProcSystem, e, 0)
		put(sample.ProcReadBytes, e, float64(i)*1e6)
		put(sample.ProcWriteBytes, e, 0)
		put(sample.ProcRSS, e, 1<<20)
		put(sample.WaitIO, sample.Entity{PID: pid, Class: "read"}, float64(i%11)/10)
		put(sample.CacheWait, sample.Entity{PID: pid, File: file}, 0.1)
		put(sample.CacheAccesses, sample.Entity{PID: pid, File: file}, float64(i+1))
		put(sample.CacheMisses, sample.Entity{PID: pid, File: file}, 1)
		put(sample.CgroupMemUsage, sample.Entity{Cgroup: fmt.Sprintf("/%s/%d", name, i/5)}, 1<<20)
	}
	put(sample.CacheAccesses, sample.Entity{}, 1)
	put(sample.DiskBusy, sample.Entity{Device: hostile[0]}, 0.5)
	put(sample.DiskReads, sample.Entity{Device: hostile[0]}, 10)
	return r.Window(start.Add(time.Second))
}

func started(w ...*sample.Window) (*Model, *none) {
	feed := &none{windows: w, ended: map[int]bool{}}
	m := New(feed, Options{Every: time.Second, Color: true, Verdict: true})
	for i := range w {
		m.Update(IntervalsMsg{{N: i, Window: w[i], State: State{Ready: true}}})
	}
	return m, feed
}

var looks = regexp.MustCompile("\x1b\\[[0-9;]*m")

// fits fails for a line that is wider than the screen, and for what moves the
// cursor.
func fits(t *testing.T, m *Model, what string) {
	t.Helper()
	lines := m.Lines()
	if len(lines) > max(m.height, 1) {
		t.Fatalf("%s: %d lines on %dx%d", what, len(lines), m.width, m.height)
	}
	for i, l := range lines {
		l = looks.ReplaceAllString(l, "")
		if strings.ContainsAny(l, "\x1b\n\r\t\x07\u202e") || !utf8.ValidString(l) || text.Width(l) > max(m.width, 2) {
			t.Fatalf("%s: line %d on %dx%d has %d columns: %q", what, i+1, m.width, m.height, text.Width(l), l)
		}
	}
}

func press(m *Model, keys ...string) {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "left": tea.KeyLeft, "down": tea.KeyDown, "end": tea.KeyEnd, "right": tea.KeyRight}
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: special[k]}
		if msg.Code == 0 {
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		if _, cmd := m.Update(msg); cmd != nil {
			if next := cmd(); next != nil {
				m.Update(next)
			}
		}
	}
}

// Whatever the names and whatever the size, nothing is garbled.
func TestHostileNamesAndAllSizes(t *testing.T) {
	m, _ := started(busy(40), busy(40))
	for _, size := range [][2]int{{1, 1}, {2, 3}, {39, 9}, {40, 10}, {41, 12}, {60, 15}, {80, 24}, {100, 30}, {161, 44}, {300, 90}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, keys := range []string{"1", "2", "3", "4", "5", "6", "7", "?", "d"} {
			press(m, keys)
			fits(t, m, "pane "+keys)
			press(m, "down", "enter")
			fits(t, m, "opened in pane "+keys)
			press(m, "esc", "esc", "esc", "esc")
		}
		press(m, "/", "日", "x")
		fits(t, m, "a filter")
		press(m, "esc")
	}
}

// The keys below are those that do something now.
func TestTheFooterNamesTheKeysOfWhatIsShown(t *testing.T) {
	m, _ := started(busy(4))
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	footer := func() string { return looks.ReplaceAllString(m.Lines()[29], "") }
	for _, c := range []struct{ key, want, not string }{
		{"?", "Esc back", "q quit"}, {"3", "q quit", "Esc back"}, {"d", "Esc back", "q quit"}, {"esc", "q quit", "Esc"},
		{"/", "Enter keep the filter  Esc show all rows", "q quit"}, {"esc", "q quit", "Esc"},
	} {
		press(m, c.key)
		if f := footer(); !strings.Contains(f, c.want) || strings.Contains(f, c.not) {
			t.Errorf("after %s: %q, want %q and not %q", c.key, f, c.want, c.not)
		}
	}
	if m.page().pane != 2 {
		t.Errorf("3 above the list of keys shows table %d", m.page().pane+1)
	}
}

// The cause of what a program waits for may be a disk or a lock: where it waits is
// named, and not that it does it to itself.
func TestCulprit(t *testing.T) {
	db := diagnose.Culprit{PID: 9, Comm: "db", Cgroup: "/c"}
	for _, c := range []struct {
		culprit  diagnose.Culprit
		by, what string
	}{
		{diagnose.Culprit{PID: 9, Comm: "db", Cgroup: "/c", Device: "sdb"}, "", "device sdb"},
		{diagnose.Culprit{PID: 9, Comm: "db", File: "/f", Device: "sdb"}, "", "file /f"},
		{diagnose.Culprit{PID: 8, Comm: "tar", Cgroup: "/t", Device: "sdb"}, "by tar (8)", "cgroup /t"},
		{diagnose.Culprit{Device: "md0"}, "by md0", ""},
		{diagnose.Culprit{}, "", ""},
	} {
		if by, what := culprit(&c.culprit, &db); by != c.by || what != c.what {
			t.Errorf("%+v: %q, %q", c.culprit, by, what)
		}
	}
}

func TestFilterAndCursor(t *testing.T) {
	m, _ := started(busy(40))
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Lines()
	press(m, "/", "p", "l", "a", "i", "n", "enter")
	m.Lines()
	if n := len(m.page().ready.rows.Rows); n != 5 {
		t.Errorf("%d of 40 processes are called plain, want 5", n)
	}
	press(m, "down", "down")
	m.Lines()
	was := m.page().chosen
	m.Update(IntervalsMsg{{N: 1, Window: busy(24), State: State{Ready: true}}}) // two of the five are gone
	m.Lines()
	if m.page().chosen != was {
		t.Errorf("the cursor was on %q and is on %q", was, m.page().chosen)
	}
	press(m, "esc")
	m.Lines()
	if n := len(m.page().ready.rows.Rows); n != 24 {
		t.Errorf("without the filter there are %d rows, want 24", n)
	}
}

// A process that is watched and gets killed is said to be gone.
func TestProcessThatIsGone(t *testing.T) {
	m, feed := started(busy(40))
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Lines()
	press(m, "enter")
	pid := m.page().pid
	if pid == 0 {
		t.Fatal("no process was opened")
	}
	feed.ended[pid] = true
	m.Update(IntervalsMsg{{N: 1, Window: busy(0), State: State{Ready: true}}})
	if all := strings.Join(m.Lines(), "\n"); !strings.Contains(all, "has ended") {
		t.Errorf("nothing says that process %d has ended:\n%s", pid, all)
	}
}

// Paused, the window that is shown stays while others come; what it has is
// loaded for the panes alone that read it.
func TestPauseAndSources(t *testing.T) {
	m, feed := started(busy(3), busy(4))
	press(m, " ")
	m.Update(IntervalsMsg{{N: 2, Window: busy(5), State: State{Ready: true}}})
	feed.windows = append(feed.windows, busy(5))
	if m.at != 1 || m.follow {
		t.Errorf("paused at window %d, following: %v; want 1", m.at, m.follow)
	}
	press(m, "left")
	if m.at != 0 {
		t.Errorf("one back is %d, want 0", m.at)
	}
	press(m, "right", "right")
	if m.at != 2 || !m.follow {
		t.Errorf("two on is %d, following: %v; want 2, true", m.at, m.follow)
	}
	light := New(feed, Options{Sources: []string{"pagecache", "locks"}})
	if got := strings.Join(feed.wanted, " "); got != "pid" {
		t.Errorf("light, the processes want %q, want pid alone", got)
	}
	press(light, "2")
	if got := strings.Join(feed.wanted, " "); !strings.Contains(got, "pagecache") || strings.Contains(got, "locks") {
		t.Errorf("light, the files want %q", got)
	}
	press(light, "v")
	if got := strings.Join(feed.wanted, " "); !strings.Contains(got, "locks") {
		t.Errorf("with a verdict they want %q", got)
	}
}

// BenchmarkKey is a key among 5,000 processes, and among the 5,000 cgroups that
// they are in: what it costs to draw anew.
func BenchmarkKey(b *testing.B) {
	for pane, name := range map[string]string{"1": "processes=5000", "4": "cgroups=5000"} {
		b.Run(name, func(b *testing.B) {
			m, _ := started(busy(5000))
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
			press(m, pane)
			m.Lines()
			if n := len(m.page().ready.rows.Rows); n != 5000 {
				b.Fatalf("%d rows", n)
			}
			for b.Loop() {
				press(m, "down")
				m.Lines()
			}
		})
	}
}

// BenchmarkInterval is an interval of 5,000 processes.
func BenchmarkInterval(b *testing.B) {
	w := []*sample.Window{busy(5000), busy(5000)}
	m, _ := started(w...)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	n := len(w)
	for b.Loop() {
		m.Update(IntervalsMsg{{N: n, Window: w[n%2], State: State{}}})
		m.Lines()
		n++
	}
}
