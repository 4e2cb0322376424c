package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
)

// framesPerSecond is how often the terminal is written to at most: keys shall
// feel immediate, and looking for changes costs a little each time.
const framesPerSecond = 20

// Run shows the screen on a terminal until somebody quits it. On every way out
// the terminal is as it was before. canStop tells that a shell is behind it,
// which Ctrl-Z goes back to.
func Run(ctx context.Context, m *Model, in io.Reader, out io.Writer, canStop bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(framesPerSecond))
	started, ended := make(chan struct{}), make(chan struct{})
	// As a command of the program: a panic in it restores the terminal, too.
	m.terminal.start = func() tea.Msg {
		close(started)
		defer close(ended)
		return EndMsg{m.feed.Run(ctx, func(all []Interval) { p.Send(IntervalsMsg(all)) })}
	}
	if canStop {
		m.terminal.stop = tea.Suspend
	}
	defer quitOn(p, syscall.SIGHUP)()
	_, err := p.Run()
	cancel()
	m.stopWatching()
	select {
	case <-started:
		<-ended
	default:
	}
	switch {
	case errors.Is(err, tea.ErrInterrupted):
		return nil // as with Ctrl-C
	case err != nil:
		return fmt.Errorf("showing the screen: %w", err)
	}
	return m.failed
}

// quitOn ends the program in order on a signal that Bubble Tea leaves to the
// kernel.
func quitOn(p *tea.Program, s os.Signal) (stop func()) {
	c, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, s)
	go func() {
		select {
		case <-c:
			p.Quit()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
	}
}
