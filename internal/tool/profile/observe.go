package profile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"iocause/internal/callstack"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
	"iocause/internal/table"
)

// UsualHz is a rate of samples that is no multiple of what programs do in step
// with the clock.
const UsualHz = 99

// Options say what is watched, and for how long.
type Options struct {
	stacks.Options
	Length time.Duration               // 0: until ctx ends
	Show   func(elapsed time.Duration) // how far it is, once it has begun; may be nil
	// Each is called every second with what ended since the beginning; may be nil.
	// Waits that go on are only in what Observe returns.
	Each func(*Profile)
}

// watching is an observation that is under way.
type watching struct {
	host    *host.Host
	probe   *stacks.Probe
	symbols *symbol.Resolver
	into    *sample.Recorder // what the probe costs
	ticks   int
	options *Options
	begin   time.Time
}

// Stacks that are new find room and names so many times a second, and all are
// looked at once a second.
const ticksPerSecond = 4

// Observe watches until the time is over or ctx ends. It needs root, or CAP_BPF
// and CAP_PERFMON.
func Observe(ctx context.Context, h *host.Host, o Options) (*Profile, error) {
	symbols := symbol.New(h)
	defer symbols.Close()
	o.Unwind = callstack.Unwinder(symbols)
	probe, err := stacks.Open(h, o.Options)
	if err != nil {
		return nil, err
	}
	defer probe.Close()
	go probe.Fresh(symbols.Meet)
	begin := h.Now()
	w := &watching{host: h, probe: probe, symbols: symbols, into: sample.NewRecorder(begin), options: &o, begin: begin}
	if err := probe.Begin(w.into); err != nil {
		return nil, err
	}
	if o.Show != nil {
		o.Show(0)
	}
	loop := session.Loop{Every: o.Length, Count: 1, Tick: time.Second / ticksPerSecond, During: w.tick, Show: o.Show}
	var length time.Duration
	err = loop.Run(ctx, func(session.Interval) (err error) {
		w.into.At(h.Now())
		length, err = probe.End(w.into)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.meet()
	if ctx.Err() != nil && length < session.Shortest {
		return nil, session.TooEarly(ctx)
	}
	return w.profile(length)
}

// profile is what was seen so far.
func (w *watching) profile(length time.Duration) (*Profile, error) {
	o := w.options
	p := &Profile{Version: 1, Of: sample.RawName(o.Comm)}
	p.Begin, p.Length = w.begin, length
	losses, err := w.probe.Losses()
	if err != nil {
		return nil, err
	}
	if o.Comm != "" || o.Cgroup != 0 {
		losses.ShortTime = 0 // that is of all threads
	}
	if rows, names := w.probe.Rows(), newNamer(w.symbols); o.OnCPU {
		p.Counts, p.Stacks = "samples", names.runs(rows)
		p.Sampling = samplingOf(w.probe.Event(), o.Hz)
	} else {
		p.Counts, p.Stacks = "waits", names.waits(rows)
	}
	p.Notes = lossNotes(&losses)
	if w.probe.Eager() {
		p.Notes = append(p.Notes, "this kernel lacks the tracepoint sched_exit_tp: a user stack was taken at every wait, which costs more")
	}
	if cost, ok := w.cost(); ok {
		p.Notes = append(p.Notes, fmt.Sprintf("the kernel programs took %s of CPU time in %s", table.Duration(cost), table.Duration(p.Length.Seconds())))
	}
	p.Notes = append(p.Notes, slices.Sorted(slices.Values(w.symbols.Notes()))...)
	return p, nil
}

func (w *watching) tick() error {
	w.ticks++
	w.into.At(w.host.Now())
	if err := w.probe.Tick(w.into, w.ticks%ticksPerSecond == 0); err != nil {
		return err
	}
	w.meet()
	if w.options.Each == nil || w.ticks%ticksPerSecond != 0 {
		return nil
	}
	p, err := w.profile(w.host.Now().Sub(w.begin))
	if err != nil {
		return err
	}
	w.options.Each(p)
	return nil
}

// meet reads the mappings of processes whose code has moved on.
func (w *watching) meet() {
	for _, r := range w.probe.Added() {
		if len(r.User.IPs) > 0 {
			w.symbols.Check(r.TGID, r.Process, r.User.IPs)
		}
		if r.Waker != nil && len(r.Waker.User.IPs) > 0 {
			w.symbols.Check(r.Waker.TGID, "", r.Waker.User.IPs)
		}
	}
}

// cost is the CPU time of the kernel programs in seconds, if it is known.
func (w *watching) cost() (seconds float64, ok bool) {
	window := w.into.Window(w.host.Now())
	window.Each(sample.CostBPFTime, func(_ sample.Entity, s *sample.Series) { seconds, ok = seconds+s.Sum(), true })
	return seconds, ok
}

// lossNotes say what is not in the figures.
func lossNotes(l *stacks.Losses) (notes []string) {
	say := func(n uint64, format string, args ...any) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	say(l.Rows, "%d waits or samples, %s in all, are missing: the BPF map was full", l.LostCount, table.Duration(l.LostTime.Seconds()))
	say(l.Stacks, "%s had no stack because the BPF map was full: their time is under [stack lost]", sample.Counted(l.Stacks, "stack"))
	say(l.Threads, "%s the kernel had no memory to time a thread: its wait is missing", sample.Counted(l.Threads, "time"))
	say(uint64(l.Folded), "%s, %s in all, are under [stack lost] because memory was short", sample.Counted(l.Folded, "small stack"), table.Duration(l.FoldedTime.Seconds()))
	say(l.Unstalled, "the user stack of %s was unwound by frame pointers only, because the copy buffer was full: it may be incomplete", sample.Counted(l.Unstalled, "stack"))
	say(l.Unmet, "the mappings of %s could not be read at once: functions of those that ended have no names", sample.Counted(l.Unmet, "process"))
	if l.ShortTime > time.Millisecond {
		notes = append(notes, fmt.Sprintf("%s of waits shorter than --min are missing: they had not added up to --min", table.Duration(l.ShortTime.Seconds())))
	}
	return notes
}
