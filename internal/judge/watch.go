package judge

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
)

// Watch is this machine under observation by all sources, for a verdict. Its methods
// are called from one goroutine; Close it.
type Watch struct {
	*source.Collector
	host *host.Host
	rest func() // ends our precedence on a crowded machine
}

// Open opens the sources; one that takes longer than limit is done without. Without
// an error there is something to Observe.
func Open(ctx context.Context, h *host.Host, sources []source.Entry, limit time.Duration) (*Watch, error) {
	open, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rest := h.Hurry()
	defer loadFreely()()
	w := &Watch{source.Open(open, h, sources), h, rest}
	w.StandIn(source.StandIns())
	if ctx.Err() != nil {
		_ = w.Close() // what keeps it from closing is of no interest to who has interrupted it
		return nil, session.TooEarly(ctx)
	}
	return w, nil
}

// loadFreely lets half as much garbage again lie around as usual while kernel programs
// are loaded, until undo is called, where the process has no stricter rule of its own, as
// agents have: the loader leaves 15 MB of it, and to look for that takes a tenth of the
// processor's time.
func loadFreely() (undo func()) {
	const usual, free = 100, 150
	before := debug.SetGCPercent(free)
	undo = func() { debug.SetGCPercent(before) }
	if before != usual {
		undo()
	}
	return undo
}

// Run is what is to be observed.
type Run struct {
	source.Observation
	Target diagnose.Target
	Child  *session.Child       // a command that is started, and watched with all that it starts; nil for none
	Begun  func()               // called when the command runs
	Step   func(*sample.Window) // is shown a window of each second; nil for one window
}

// Close ends the observation.
func (w *Watch) Close() error {
	w.rest()
	return w.Collector.Close()
}

// Window observes until the time is over, the command has ended or watch has. It
// returns what was seen, and whom it is about: the processes of the command, where
// there is one. What is odd about these is among the gaps.
func (w *Watch) Window(watch context.Context, run *Run) (*sample.Window, diagnose.Target, error) {
	t := run.Target
	var one *host.Started
	if len(t.PIDs) == 1 {
		one = w.host.StartOf(t.PIDs[0])
	}
	w.Begin()
	ob := run.Observation
	if run.Child != nil {
		w.rest() // the command shall run as it would without us
		if err := run.Child.Start(w.host); err != nil {
			return nil, t, err
		}
		defer run.Child.StopTracking()
		ob.Until = run.Child.Done()
	}
	if run.Begun != nil {
		run.Begun()
	}
	var seen *sample.Window
	if run.Step != nil {
		seen = w.ObserveInSteps(watch, ob, time.Second, run.Step)
	} else {
		seen = w.Observe(watch, ob)
	}
	if one != nil {
		if why := one.Ended(w.host); why != "" {
			seen.Gaps = append(seen.Gaps, sample.Gap{Why: why})
		}
	}
	if run.Child != nil {
		t.PIDs = w.ran(watch, run.Child, seen)
	}
	return seen, t, nil
}

// ran puts into the window what is known of a command, and returns its processes. It
// gets the interrupt that has ended the watching.
func (w *Watch) ran(watch context.Context, c *session.Child, seen *sample.Window) []int {
	processes := c.StopTracking()
	Rename(seen, processes)
	if ran, state, ok := c.Ended(); ok {
		DescribeRun(seen, ran, c.Code(), state.String())
	}
	if watch.Err() != nil {
		c.Signal(session.SignalOf(watch))
	}
	return slices.Sorted(maps.Keys(processes))
}
