package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/notify"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/summaries"
)

// Finding is what the costly probes found in an incident.
type Finding struct {
	Report   json.RawMessage // of diagnose; nil when it could not judge
	Cause    string
	Title    string
	Sections []incidents.Section
	Notes    []string // what could not be gathered, and why

	at time.Time // of a look: when it began
}

// Ask is what the costly probes are wanted for.
type Ask struct {
	Length time.Duration
	Look   bool   // nothing is off: only a window is wanted, as the one section
	Normal []byte // such a window of better times to compare with, nil for none
}

// Judge runs the costly probes for a time and judges what they see.
type Judge func(ctx context.Context, ask Ask) Finding

// watcher learns what is normal and keeps an incident of what is not. It is
// used by one goroutine.
type watcher struct {
	config  *Config
	host    *host.Host
	log     *slog.Logger
	judge   Judge
	program string
	hooks   []notify.Hook
	gather  *gather
	faults  *faults
	caps    *caps
	watch   *detect.Watch
	hours   []sample.Hour // that are not on disk yet
	open    *incidents.Incident
	saved   time.Time
	found   chan Finding
	judging int // the number of the incident that is being judged, 0 none
	slots   []slot

	looking    bool // the probes look though nothing is off
	normal     *normal
	normalNext time.Time
}

// slot is a sample that may become evidence.
type slot struct {
	at     time.Time
	values map[string]float64
}

const (
	watchEvery   = 10 * time.Second
	saveEvery    = time.Minute
	pruneEvery   = 6 * time.Hour
	mostSlots    = 360       // an hour
	before       = 60        // slots before an incident that are kept with it
	mostKept     = 256 << 20 // bytes of all incidents
	hookPatience = 10 * time.Second
	newNormal    = 8 * 7 * 24 * time.Hour // after which the hours of the week know a change that lasts
)

// newWatcher reads what is known of the host.
func newWatcher(h *host.Host, c *Config, log *slog.Logger, judge Judge, program string) *watcher {
	w := &watcher{config: c, host: h, log: log, judge: judge, program: program, hooks: c.Incidents.hooks(log), gather: newGather(), faults: newFaults(h, log), found: make(chan Finding, 1)}
	history := detect.NewHistory(time.Local)
	lost, err := summaries.Read(filepath.Join(c.Dir, "baselines"), history.Put)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Error("what is normal cannot be read; it is learned anew", "why", err)
	}
	for _, what := range lost {
		log.Error("a part of what is normal cannot be read", "what", what)
	}
	w.watch = detect.NewWatch(detect.Signals(), detect.DefaultRule(), time.Local, history)
	if err := os.MkdirAll(w.dir(), 0o700); err != nil {
		log.Warn("there is no place for incidents yet", "why", err)
	}
	w.resume()
	return w
}

// resume goes on with an incident that was open when the agent ended, and with
// one that had become normal.
func (w *watcher) resume() {
	list, err := incidents.List(w.dir())
	if err != nil {
		return
	}
	now := w.host.Now()
	if slices.ContainsFunc(list, func(e incidents.Entry) bool {
		return e.Err == nil && e.Meta.What.Lasting && now.Sub(e.Meta.What.End) < newNormal
	}) {
		w.watch.Changed()
	}
	at := slices.IndexFunc(list, func(e incidents.Entry) bool { return e.Err == nil && e.Meta.Open })
	if at < 0 {
		return
	}
	x, err := incidents.Load(w.dir(), list[at].Number)
	if err != nil {
		w.log.Error("the incident that was open cannot be read", "number", list[at].Number, "why", err)
		return
	}
	w.open = x
	w.watch.Resume(x.Meta.What)
}

func (w *watcher) dir() string { return filepath.Join(w.config.Dir, "incidents") }

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	pruned := time.Time{}
	for {
		now := w.host.Now()
		next := now.Truncate(watchEvery).Add(watchEvery)
		select {
		case <-ctx.Done():
			w.finish()
			return
		case f := <-w.found:
			w.take(ctx, f)
			continue
		case <-time.After(next.Sub(now)):
		}
		now = w.host.Now()
		w.step(ctx, w.sample(now))
		if w.caps.due(now) {
			w.keepCaps(now)
		}
		if now.Sub(pruned).Abs() > pruneEvery {
			pruned = now
			w.prune()
		}
	}
}

// sample is what was seen since the last one.
func (w *watcher) sample(now time.Time) detect.Sample {
	s := w.gather.take(now)
	s.Limits = slices.Concat(s.Limits, w.faults.since(), w.caps.take())
	return s
}

// step judges one sample.
func (w *watcher) step(ctx context.Context, s detect.Sample) {
	w.slots = append(w.slots, slot{s.At, s.Values})
	if len(w.slots) > mostSlots {
		w.slots = w.slots[1:]
	}
	d := w.watch.Add(s)
	w.keepHours(d.Hours)
	defer w.lookAtNormal(ctx, s.At)
	switch d.Action {
	case detect.Open:
		w.begin(ctx, d.Incident)
	case detect.Extend:
		if w.open != nil {
			w.open.Meta.What = d.Incident
			if s.At.Sub(w.saved).Abs() >= saveEvery {
				w.save()
			}
		}
	case detect.Close:
		if w.open == nil {
			return
		}
		w.open.Meta.What, w.open.Meta.Open = d.Incident, false
		w.save()
		w.log.Info("an incident is over", "number", w.open.Meta.Number, "lasted", d.Incident.End.Sub(d.Incident.Start))
		w.tell(ctx, "close")
		w.open = nil
	}
}

// begin keeps a new incident at once, and has it judged.
func (w *watcher) begin(ctx context.Context, i sample.Incident) {
	name, _ := os.ReadFile(w.host.Proc("sys", "kernel", "hostname"))
	kernel, _ := os.ReadFile(w.host.Proc("sys", "kernel", "osrelease"))
	w.open = &incidents.Incident{Meta: incidents.Meta{
		Host: strings.TrimSpace(string(name)), Kernel: strings.TrimSpace(string(kernel)), Program: w.program, Open: true, What: i,
	}}
	w.save()
	w.log.Warn("an incident has begun", "number", w.open.Meta.Number, "since", i.Start, "what", summary(&i))
	if w.judge == nil || w.config.Incidents.Diagnose == 0 || w.judging != 0 {
		w.open.Meta.Notes = append(w.open.Meta.Notes, "not judged: diagnosing is off, or another incident was being judged")
		w.tell(ctx, "open")
		return
	}
	w.judging = w.open.Meta.Number
	if !w.looking { // else when that is over
		w.startJudging(ctx)
	}
}

// startJudging has the open incident judged, against better times where there
// were any.
func (w *watcher) startJudging(ctx context.Context) {
	start := w.open.Meta.What.Start
	if w.normal != nil && !w.normal.at.Before(start) {
		w.normal = nil // it began already
	}
	ask := Ask{Length: w.config.Incidents.Diagnose, Normal: w.normalBefore(start)}
	go func() { w.found <- w.judge(ctx, ask) }()
}

// take adds what the probes found.
func (w *watcher) take(ctx context.Context, f Finding) {
	if w.looking {
		if w.looked(f); w.open != nil && w.judging == w.open.Meta.Number {
			w.startJudging(ctx)
		} else {
			w.judging = 0
		}
		return
	}
	number := w.judging
	w.judging = 0
	if w.open == nil || w.open.Meta.Number != number {
		x, err := incidents.Load(w.dir(), number) // it was over before it was judged
		if err != nil {
			w.log.Error("what was found of an incident cannot be kept", "number", number, "why", err)
			return
		}
		defer func(now *incidents.Incident) { w.open = now }(w.open)
		w.open = x
	}
	m := &w.open.Meta
	w.open.Finding, w.open.Sections, m.Cause, m.Title = f.Report, f.Sections, f.Cause, f.Title
	m.Notes = append(m.Notes, f.Notes...)
	w.save()
	w.log.Warn("an incident is judged", "number", number, "cause", f.Cause)
	w.tell(ctx, "open")
}

// save writes the incident with the signals around it.
func (w *watcher) save() {
	w.saved = w.host.Now()
	if around := w.around(); len(around) > 0 {
		w.open.Series = around
	}
	w.keepTables()
	if err := incidents.Save(w.dir(), w.open); err != nil {
		w.log.Error("the incident cannot be kept; it is tried again", "why", err)
	}
}

// keepTables adds the tables from a minute before the incident on.
func (w *watcher) keepTables() {
	if w.config.Tables.Interval == 0 {
		return
	}
	what := &w.open.Meta.What
	// The table of an interval belongs to its middle.
	one, ok, err := TablesAround(w.config.Dir, w.program, what.Start, what.End.Add(w.config.Tables.Interval))
	if err != nil {
		w.log.Error("the tables around the incident cannot be kept with it", "why", err)
	}
	if !ok {
		return
	}
	if at := slices.IndexFunc(w.open.Sections, func(s incidents.Section) bool { return s.Name == SectionTop }); at >= 0 {
		w.open.Sections[at] = one
	} else {
		w.open.Sections = append(w.open.Sections, one)
	}
}

// around are the signals from ten minutes before the incident on, as long as
// they are remembered; none when the agent started later.
func (w *watcher) around() []incidents.Series {
	from := w.open.Meta.What.Start.Add(-before * watchEvery)
	slots := w.slots
	for len(slots) > 0 && slots[0].at.Before(from) {
		slots = slots[1:]
	}
	if len(slots) == 0 || slots[0].at.After(w.open.Meta.What.Start.Add(2*watchEvery)) {
		return nil
	}
	var out []incidents.Series
	for _, s := range detect.Signals() {
		one := incidents.Series{Name: s.Name, Unit: s.Unit, Source: "agent, means of 10 s", Start: slots[0].at.Add(-watchEvery), Step: watchEvery.Seconds()}
		known := false
		for _, x := range slots {
			if v, ok := x.values[s.Name]; ok {
				one.Values = append(one.Values, &v)
				known = true
			} else {
				one.Values = append(one.Values, nil)
			}
		}
		if known {
			out = append(out, one)
		}
	}
	return out
}

// keepHours writes hours that are over; those that the disk does not take are
// tried again with the next.
func (w *watcher) keepHours(hours []sample.Hour) {
	if w.hours = append(w.hours, hours...); len(w.hours) == 0 {
		return
	}
	if err := summaries.Append(filepath.Join(w.config.Dir, "baselines"), w.hours); err != nil {
		w.log.Error("what is normal cannot be written; it is tried again", "why", err)
		return
	}
	w.hours = nil
}

func (w *watcher) keepCaps(now time.Time) {
	if w.caps == nil {
		return
	}
	if err := w.caps.keep(w.config.Dir, now); err != nil {
		w.log.Error("which limits are reached every day cannot be kept; it is tried again", "why", err)
	}
}

func (w *watcher) prune() {
	if err := summaries.Prune(filepath.Join(w.config.Dir, "baselines")); err != nil && !os.IsNotExist(err) {
		w.log.Error("old hours of what is normal cannot be removed", "why", err)
	}
	gone, err := incidents.Prune(w.dir(), mostKept)
	if err != nil && !os.IsNotExist(err) {
		w.log.Error("old incidents cannot be removed", "why", err)
	}
	if len(gone) > 0 {
		w.log.Info("old incidents were removed to make room", "numbers", gone)
	}
}

// finish keeps what is known so far. An incident that is open stays so: the
// next agent goes on with it.
func (w *watcher) finish() {
	w.keepHours(w.watch.Flush())
	w.keepCaps(w.host.Now())
	if w.open == nil {
		w.keepNormal()
	}
	if w.open != nil {
		w.save()
	}
}

// tell tells the hooks.
func (w *watcher) tell(ctx context.Context, action string) {
	if len(w.hooks) == 0 {
		return
	}
	m := w.open.Meta
	document, err := json.Marshal(&m)
	if err != nil {
		w.log.Error("an incident cannot be told", "why", err)
		return
	}
	what := summary(&m.What)
	if m.Title != "" {
		what = m.Title + ": " + what
	}
	e := &notify.Event{Action: action, Number: m.Number, Summary: fmt.Sprintf("%q", what), At: w.host.Now(), Document: document}
	go func() {
		if err := notify.All(context.WithoutCancel(ctx), hookPatience, w.hooks, e); err != nil {
			w.log.Error("an incident could not be told", "number", e.Number, "why", err)
		}
	}()
}

// summary is an incident in one line.
func summary(i *sample.Incident) string {
	var parts []string
	for _, l := range i.Limits {
		parts = append(parts, l.Kind+": "+l.What)
	}
	for _, r := range i.Reasons {
		parts = append(parts, fmt.Sprintf("%s %.3g (normal %.3g, %s)", r.Signal, r.Value, r.Normal, r.Basis))
	}
	return strings.Join(parts, "; ")
}
