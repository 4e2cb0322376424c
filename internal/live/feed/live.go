// Package feed hands windows to the live screen: of this machine as they end,
// or of what was kept.
package feed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/judge"
	"iocause/internal/live"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
)

const (
	// firstLook is how long the first window is: something is to be seen soon.
	firstLook = 200 * time.Millisecond
	// judgedOver is how long a verdict looks back.
	judgedOver = 10 * time.Second
	// keepLoaded is how long kernel programs stay that nothing reads: who goes
	// from table to table shall not wait for them each time.
	keepLoaded = time.Minute
	// How much garbage there may be, in percent of what is in use: loading kernel
	// programs leaves much behind at once; else looking for garbage so often would
	// be a sixth of the processor time.
	gcLoading, gcReading = 50, 100
	// keptBytes is how much memory the past takes.
	keptBytes = 12 << 20
)

// Machine watches this machine.
type Machine struct {
	Host    *host.Host
	Sources []source.Entry // all there are
	Every   time.Duration
	Target  diagnose.Target
	Limit   time.Duration // for opening a source

	past *recording.Memory

	mu     sync.Mutex
	wanted []string
	recent []*sample.Window // the newest, as long as judgedOver
	ready  int              // the first window with all that a verdict needs; -1: none yet
	next   int              // number of the next window
	needs  []string         // of a verdict

	// These belong to the goroutine of Run.
	collector *source.Collector
	open      []string // names of the sources that are, or could not be, opened
	opening   chan *source.Late
	unread    time.Time // nothing has read the kernel programs since then; zero: something does
	refused   string
	stoodIn   bool
	cpu       float64
}

// NewMachine prepares to watch. needs are the sources of a verdict.
func NewMachine(h *host.Host, sources []source.Entry, needs []string, every time.Duration, target diagnose.Target, limit time.Duration) (*Machine, error) {
	past, err := recording.NewMemory(keptBytes)
	if err != nil {
		return nil, err
	}
	return &Machine{Host: h, Sources: sources, Every: every, Target: target, Limit: limit, past: past, ready: -1, needs: needs}, nil
}

// probes are the sources that load kernel programs: the others are read from
// the start on.
func probes() []string { return []string{"reclaim", "writeback", "locks", "blockio", "pagecache"} }

// Run implements live.Feed.
func (m *Machine) Run(ctx context.Context, to func([]live.Interval)) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcReading))
	first, cancel := context.WithTimeout(ctx, m.Limit)
	defer cancel()
	var cheap []source.Entry
	for _, e := range m.Sources {
		if !slices.Contains(probes(), e.Name) {
			cheap = append(cheap, e)
			m.open = append(m.open, e.Name)
		}
	}
	m.collector = source.Open(first, m.Host, cheap)
	m.collector.WalkRarely()
	defer func() { err = errors.Join(err, m.close()) }()
	m.cost(sample.NewWindow(m.Host.Now(), 0))
	m.collector.Begin()
	m.load(ctx)
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(min(firstLook, m.Every)):
	}
	if err := m.interval(ctx, m.collector.Next(false), to); err != nil {
		return err
	}
	return m.collector.Intervals(ctx, m.Every, 0, func(w *sample.Window) error {
		if ctx.Err() != nil {
			return nil
		}
		return m.interval(ctx, w, to)
	})
}

// close closes what is open, and what is just being opened.
func (m *Machine) close() error {
	if m.opening != nil {
		late := <-m.opening
		return errors.Join(late.Close(), m.collector.Close())
	}
	return m.collector.Close()
}

// interval hands on a window that has just ended, and sees to it that the next one
// has what the screen reads.
func (m *Machine) interval(ctx context.Context, w *sample.Window, to func([]live.Interval)) error {
	complete := m.complete()
	m.join(w)
	m.load(ctx)
	if err := m.unload(w); err != nil {
		return err
	}
	if err := m.past.Add(&recording.Record{Window: w}); err != nil {
		return err
	}
	first, _ := m.past.Kept()
	m.mu.Lock()
	n := m.next
	m.next++
	switch {
	case !complete:
		m.ready = -1
	case m.ready < 0:
		m.ready = n
	}
	m.recent = append(m.recent, w)
	length := time.Duration(0)
	for i := len(m.recent) - 1; i >= 0; i-- {
		if length += m.recent[i].Length; length >= judgedOver {
			m.recent = slices.Clone(m.recent[i:]) // others may be reading the old one
			break
		}
	}
	state := live.State{Loading: m.opening != nil, Ready: m.ready >= 0, Refused: m.refused}
	m.mu.Unlock()
	to([]live.Interval{{N: n, First: first, Window: w, Cost: m.cost(w), State: state}})
	return nil
}

// complete tells whether all that a verdict needs is read, or cannot be had.
func (m *Machine) complete() bool {
	return m.opening == nil && !slices.ContainsFunc(m.needs, func(name string) bool { return !slices.Contains(m.open, name) })
}

// cost is what iocause took of the machine in a window.
func (m *Machine) cost(w *sample.Window) live.Cost {
	read, err := source.ReadCost(m.Host, w)
	before := m.cpu
	m.cpu = read.CPUSeconds
	if err != nil || w.Seconds() <= 0 {
		return live.Cost{}
	}
	return live.Cost{CPU: (read.CPUSeconds - before) / w.Seconds(), BPF: read.BPFSeconds / w.Seconds(), Bytes: read.RSSBytes, Known: true}
}

// Want implements live.Feed.
func (m *Machine) Want(sources []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted = slices.Clone(sources)
}

func (m *Machine) wants() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted
}

// load opens what the screen reads and is not open, beside what is read.
func (m *Machine) load(ctx context.Context) {
	if m.opening != nil {
		return
	}
	var more []source.Entry
	for _, e := range m.Sources {
		if slices.Contains(m.wants(), e.Name) && !slices.Contains(m.open, e.Name) {
			more = append(more, e)
			m.open = append(m.open, e.Name)
		}
	}
	if len(more) == 0 {
		return
	}
	opening := make(chan *source.Late, 1)
	m.opening = opening
	debug.SetGCPercent(gcLoading)
	go func() {
		limited, cancel := context.WithTimeout(ctx, m.Limit)
		defer cancel()
		opening <- source.OpenLate(limited, m.Host, more)
	}()
}

// join takes in what has been opened. Where kernel programs are refused, others
// stand in for the most important one.
func (m *Machine) join(*sample.Window) {
	if m.opening == nil {
		return
	}
	var late *source.Late
	select {
	case late = <-m.opening:
		m.opening = nil
		debug.SetGCPercent(gcReading)
	default:
		return
	}
	for _, s := range late.Statuses() {
		if s.OpenErr == nil {
			continue
		}
		if m.refused == "" || errors.Is(s.OpenErr, bpf.ErrNotPermitted) {
			m.refused = fmt.Sprintf("%s: %v", s.Name, s.OpenErr)
		}
		if s.Name == "pagecache" && !m.stoodIn {
			m.stoodIn = true
			stand := source.OpenLate(context.Background(), m.Host, source.StandIns())
			defer m.collector.Join(stand)
		}
	}
	m.collector.Join(late)
}

// unload takes the kernel programs out that nothing has read for a while. They
// go together: some count the same metrics.
func (m *Machine) unload(w *sample.Window) error {
	wants := m.wants()
	loaded := slices.ContainsFunc(m.open, func(name string) bool { return slices.Contains(probes(), name) })
	read := slices.ContainsFunc(probes(), func(name string) bool { return slices.Contains(wants, name) })
	now := w.Start.Add(w.Length)
	switch {
	case !loaded || read || m.opening != nil:
		m.unread = time.Time{}
		return nil
	case m.unread.IsZero():
		m.unread = now
	}
	if now.Sub(m.unread) < keepLoaded {
		return nil
	}
	m.open = slices.DeleteFunc(m.open, func(name string) bool { return slices.Contains(probes(), name) })
	return m.collector.Leave(probes()...)
}

// At implements live.Feed.
func (m *Machine) At(n int) (*sample.Window, error) { return m.past.At(n) }

// Judge implements live.Feed.
func (m *Machine) Judge(n int) (*diagnose.Report, error) {
	m.mu.Lock()
	recent, first := m.recent, m.next-len(m.recent)
	from := max(m.ready, 0)
	m.mu.Unlock()
	if at := n - first; at >= 0 && at < len(recent) {
		return judged(recent[min(max(from-first, 0), at):at+1], m.Target)
	}
	windows, err := before(m.past, n)
	if err != nil {
		return nil, err
	}
	return judged(windows, m.Target)
}

// before are a window and those before it, as long as a verdict looks back.
func before(past *recording.Memory, n int) ([]*sample.Window, error) {
	first, _ := past.Kept()
	var all []*sample.Window
	length := time.Duration(0)
	for k := n; k >= first && length < judgedOver; k-- {
		w, err := past.At(k)
		if err != nil && k == n {
			return nil, err
		} else if err != nil {
			break
		}
		all = append(all, w)
		length += w.Length
	}
	slices.Reverse(all)
	return all, nil
}

// judged judges windows that follow each other as one.
func judged(windows []*sample.Window, target diagnose.Target) (*diagnose.Report, error) {
	var all sample.Join
	for _, w := range windows {
		all.Add(w)
	}
	one := *all.Window() // of one alone it is that window, which is the screen's
	cost, err := source.ReadCost(&host.Host{}, &one)
	if err != nil {
		return nil, err
	}
	return judge.Window(&one, target, nil, nil, cost)
}

// Ended implements live.Feed.
func (m *Machine) Ended(pid int) bool {
	_, err := os.Stat(m.Host.Proc(strconv.Itoa(pid)))
	return errors.Is(err, os.ErrNotExist)
}
