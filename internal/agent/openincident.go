package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/detect"
	"iocause/internal/notify"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/summaries"
)

// openIncident is an incident in memory. It is the watcher's but for what is said below.
type openIncident struct {
	incidents.Incident
	told   bool         // that it has begun
	number atomic.Int64 // on the disk; 0: it is not there yet

	// The keeper's: the tables around it, as last read, and until when.
	top      *incidents.Section
	topUntil time.Time
}

// hours are those of what is normal that the disk has not taken. Safe for
// concurrent use.
type hours struct {
	mu  sync.Mutex
	all []sample.Hour
}

func (h *hours) add(more []sample.Hour) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, more...)
}

// write appends them to the files of a folder; those that it does not take wait
// on.
func (h *hours) write(dir string) error {
	h.mu.Lock()
	all := h.all
	h.all = nil
	h.mu.Unlock()
	err := summaries.Append(dir, all)
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(all, h.all...)
	}
	return err
}

// hooksOf are the configured hooks, each called once at a time.
func hooksOf(c *Config, log *slog.Logger) (all []notify.Hook) {
	for _, h := range c.Incidents.hooks(log) {
		all = append(all, notify.Alone(h))
	}
	return all
}

// save has the incident written, with the signals around it, as it is now.
func (w *watcher) save(x *openIncident) {
	w.saved = w.host.Now()
	around := w.around(x.Meta.What.Start)
	if len(around) > 0 && (len(x.Series) == 0 || !around[0].Start.After(x.Series[0].Start)) { // of one that lasts, the beginning
		x.Series = around
	}
	now := x.Incident
	now.Meta.Notes, now.Sections = slices.Clone(now.Meta.Notes), slices.Clone(now.Sections)
	size := 0
	for _, s := range now.Sections {
		size += len(s.Data)
	}
	w.keeper.put(job{of: x, bytes: size, fails: "the incident cannot be saved", do: func() error {
		w.addTables(x, &now)
		now.Meta.Number = int(x.number.Load())
		err := incidents.Save(w.dir(), &now)
		x.number.Store(int64(now.Meta.Number)) // it may have one though something failed
		return err
	}})
}

// addTables adds the tables from a minute before the incident on.
func (w *watcher) addTables(x *openIncident, now *incidents.Incident) {
	if w.config.Tables.Interval == 0 {
		return
	}
	what := &now.Meta.What
	if x.top != nil && x.topUntil.Sub(what.Start) > mostTop { // there will be no more of them
		now.Sections = withSection(now.Sections, *x.top)
		return
	}
	// The table of an interval belongs to its middle.
	one, ok, err := TablesAround(w.config.Dir, w.program, what.Start, what.End.Add(w.config.Tables.Interval))
	if err != nil {
		w.log.Error("the tables around the incident cannot be saved with it", "why", err)
	}
	if ok {
		x.top, x.topUntil = &one, what.End
	}
	if x.top != nil {
		now.Sections = withSection(now.Sections, *x.top)
	}
}

// withSection puts a section in place of the one of its name.
func withSection(all []incidents.Section, one incidents.Section) []incidents.Section {
	if at := slices.IndexFunc(all, func(s incidents.Section) bool { return s.Name == one.Name }); at >= 0 {
		all[at] = one
		return all
	}
	return append(all, one)
}

// around are the signals from ten minutes before the incident on, as long as
// they are remembered; none when the agent started later.
func (w *watcher) around(start time.Time) []incidents.Series {
	from := start.Add(-before * watchEvery)
	slots := w.slots
	for len(slots) > 0 && slots[0].at.Before(from) {
		slots = slots[1:]
	}
	if len(slots) == 0 || slots[0].at.After(start.Add(2*watchEvery)) {
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

// announce tells of an incident that has begun, once it has a number.
func (w *watcher) announce(ctx context.Context) {
	if w.open != nil && !w.open.told && w.open.number.Load() != 0 {
		w.tellOpen(ctx)
	}
}

func (w *watcher) tellOpen(ctx context.Context) {
	w.open.told = true
	w.log.Warn("an incident began", "number", w.open.number.Load(), "since", w.open.Meta.What.Start, "what", summary(&w.open.Meta.What))
	w.tell(ctx, notify.Open, w.open)
}

// openMeta is what is told of the incident that is going on, nil for none.
func (w *watcher) openMeta() *incidents.Meta {
	if w.open == nil {
		return nil
	}
	m := w.open.Meta
	m.Number = int(w.open.number.Load())
	return &m
}

// tell tells Alertmanagers, and the hooks, one event after the other.
func (w *watcher) tell(ctx context.Context, action notify.Action, x *openIncident) {
	m := x.Meta
	m.Number = int(x.number.Load())
	w.alerts.tell(&m, action == notify.Open && w.judging == x)
	w.events.tell(action, &m)
	if len(w.hooks) == 0 {
		return
	}
	document, err := json.Marshal(&m)
	if err != nil {
		w.log.Error("an incident cannot be sent", "why", err)
		return
	}
	what := summary(&m.What)
	if m.Title != "" {
		what = m.Title + ": " + what
	}
	e := &notify.Event{Action: action, Number: m.Number, Summary: fmt.Sprintf("%q", what), At: w.host.Now(), Document: document}
	before, told := w.telling, make(chan struct{})
	w.telling = told
	go func() {
		defer close(told)
		if before != nil {
			<-before
		}
		if err := notify.All(context.WithoutCancel(ctx), hookPatience, w.hooks, e); err != nil {
			w.log.Error("an incident could not be sent", "number", e.Number, "why", err)
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
