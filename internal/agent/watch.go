package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/notify"
	"iocause/internal/sample"
	"iocause/internal/store/advice"
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

	Again *advice.Outcome // what came of an advice

	at time.Time // of a look: when it began
}

// Ask is what the costly probes are wanted for.
type Ask struct {
	Length time.Duration
	Look   bool   // nothing is abnormal: only a window is wanted, as the one section
	Again  string // the file of an incident: only what came of its advice is wanted
	Normal []byte // such a window of better times to compare with, nil for none
	PIDs   []int  // the processes that stand still, where that is the anomaly
}

// Judge runs the costly probes for a time and judges what they see.
type Judge func(ctx context.Context, ask Ask) Finding

// watcher learns what is normal and keeps an incident of what is not. It is
// used by one goroutine.
type watcher struct {
	config       *Config
	host         *host.Host
	log          *slog.Logger
	judge        Judge
	program      string
	hooks        []notify.Hook
	alerts       *alerts // nil: no Alertmanager is told
	events       *events // nil: no log records are sent
	pods         *podNames
	gather       *gather
	faults       *faults
	cgroupLimits *cgroupLimits
	stalls       *stalls
	verdicts     *verdicts
	advised      *advised
	watch        *detect.Watch
	every        time.Duration // from one sample to the next
	keeper       *keeper
	hours        hours
	open         *openIncident // nil: no anomaly
	saved        time.Time
	found        chan Finding
	judging      *openIncident // nil: none is being judged
	telling      chan struct{} // closed when the last event is told; nil: none was
	slots        []slot

	looking    bool // the probes look though nothing is abnormal
	normal     *normal
	keptNormal *normal     // the newest that was given to the keeper; the disk need not have it
	reading    atomic.Bool // better times, from the disk
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

	stillOn = 5 * time.Minute // after an incident was last seen: what the probes see now is of it
	// With what does not end at once when the agent does; stopPatience is more.
	judgePatience = time.Second
	keepPatience  = 2 * time.Second
	tellPatience  = 3 * time.Second

	normalPatience = 2 * time.Second        // with the disk that has the better times
	newNormal      = 8 * 7 * 24 * time.Hour // after which the hours of the week know a change that lasts
)

// newWatcher reads what is known of the host.
func newWatcher(h *host.Host, c *Config, log *slog.Logger, judge Judge, program string) *watcher {
	w := &watcher{config: c, host: h, log: log, judge: judge, program: program, every: cmp.Or(c.watchEvery, watchEvery), hooks: hooksOf(c, log), gather: newGather(), faults: newFaults(h, log),
		keeper: newKeeper(log), found: make(chan Finding, 1), verdicts: &verdicts{now: h.Now}}
	history := detect.NewHistory(time.Local)
	lost, err := summaries.Read(filepath.Join(c.Dir, "baselines"), history.Put)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Error("the baselines cannot be read; they are learned again", "why", err)
	}
	for _, what := range lost {
		log.Error("a part of the baselines cannot be read", "what", what)
	}
	if w.advised, err = newAdvised(h, c.Dir, cmp.Or(c.adviceSettles, adviceSettles)); err != nil {
		log.Error("the list of earlier advice is lost", "why", err)
	}
	w.watch = detect.NewWatch(detect.Signals(), detect.DefaultRule(), time.Local, history)
	if err := os.MkdirAll(w.dir(), 0o700); err != nil {
		log.Warn("there is no directory for incidents yet", "why", err)
	}
	w.alerts = newAlerts(c, h.Name(), log, h.Now, w.keeper.put)
	w.events = newEvents(c, h.Name(), log, h.Now, w.keeper.put)
	w.pods = newPodNames(c.CRISocket, log, h.Now)
	if w.events != nil {
		w.events.pods = w.pods
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
		w.log.Error("the open incident cannot be read", "number", list[at].Number, "why", err)
		return
	}
	w.open = &openIncident{Incident: *x, told: true}
	w.open.number.Store(int64(x.Meta.Number))
	w.watch.Resume(x.Meta.What)
}

func (w *watcher) dir() string { return filepath.Join(w.config.Dir, "incidents") }

// run watches until ctx ends, and then until the disk has taken what is known.
func (w *watcher) run(ctx context.Context) {
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var kept sync.WaitGroup
	kept.Go(func() { w.keeper.run(keeping) })
	w.judgeResumed(ctx)
	if w.open != nil {
		w.verdicts.set(w.open.Finding, ofIncident)
	}
	w.alerts.resume(w.openMeta(), w.judging != nil)
	go w.alerts.run(ctx)
	go w.events.run(ctx)
	pruned := time.Time{}
	for {
		now := w.host.Now()
		next := now.Truncate(w.every).Add(w.every)
		select {
		case <-ctx.Done():
			w.finish(ctx)
			stop()
			w.end(ctx, &kept)
			return
		case f := <-w.found:
			w.take(ctx, f)
			continue
		case <-w.keeper.done:
			w.announce(ctx)
			continue
		case <-time.After(next.Sub(now)):
		}
		now = w.host.Now()
		w.step(ctx, w.sample(now))
		if w.cgroupLimits.due(now) {
			w.saveLimits(now)
		}
		if now.Sub(pruned).Abs() > pruneEvery {
			pruned = now
			w.keeper.put(job{of: "prune", fails: "old baselines or incidents cannot be removed", do: w.prune})
		}
	}
}

// sample is what was seen since the last one.
func (w *watcher) sample(now time.Time) detect.Sample {
	s := w.gather.take(now)
	s.Limits = slices.Concat(s.Limits, w.faults.since(), w.cgroupLimits.take(), w.stalls.take(now))
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
	defer w.followAdvice(ctx, s.At)
	if w.open != nil && !w.open.told {
		w.tellOpen(ctx) // the disk does not take it
	}
	switch d.Action {
	case detect.Open:
		w.begin(ctx, d.Incident)
	case detect.Extend:
		if w.open != nil {
			w.open.Meta.What = d.Incident
			if s.At.Sub(w.saved).Abs() >= saveEvery {
				w.save(w.open)
			}
		}
	case detect.Close:
		if w.open == nil {
			return
		}
		w.open.Meta.What, w.open.Meta.Open = d.Incident, false
		w.save(w.open)
		w.log.Info("an incident is over", "number", w.open.number.Load(), "lasted", d.Incident.End.Sub(d.Incident.Start))
		w.tell(ctx, notify.Close, w.open)
		w.verdicts.end()
		w.open = nil
	}
}

// begin keeps a new incident at once, and has it judged.
func (w *watcher) begin(ctx context.Context, i sample.Incident) {
	w.open = &openIncident{Incident: incidents.Incident{Meta: incidents.Meta{
		Host: w.host.Name(), Kernel: w.host.Release(), Program: w.program, Open: true, What: i,
	}}}
	judged := w.judges() && w.judging == nil
	if !judged {
		w.open.Meta.Notes = append(w.open.Meta.Notes, "the finding: diagnosis is off, or another incident was being diagnosed")
	}
	w.save(w.open)
	if !judged {
		return
	}
	w.judging = w.open
	if !w.looking { // else when that is over
		w.startJudging(ctx)
	}
}

// judges tells whether incidents are judged at all.
func (w *watcher) judges() bool { return w.judge != nil && w.config.Incidents.Diagnose > 0 }

// judgeResumed has an incident judged that the agent before ended over.
func (w *watcher) judgeResumed(ctx context.Context) {
	x := w.open
	if x == nil || x.Finding != nil || len(x.Meta.Notes) > 0 || !w.judges() {
		return
	}
	if w.host.Now().Sub(x.Meta.What.End).Abs() > stillOn {
		x.Meta.Notes = append(x.Meta.Notes, "the finding: the agent stopped first")
		return
	}
	w.judging = x
	w.startJudging(ctx)
}

// startJudging has an incident judged, against better times where there were
// any.
func (w *watcher) startJudging(ctx context.Context) {
	start := w.judging.Meta.What.Start
	if w.normal != nil && !w.normal.at.Before(start) {
		w.normal = nil // it began already
	}
	ask, last := Ask{Length: w.config.Incidents.Diagnose, PIDs: w.stalls.whose(w.judging.Meta.What.Limits)}, w.normal
	if last == nil {
		last = w.keptNormal
	}
	go func() {
		var late error
		ask.Normal, late = w.soonNormal(start, last)
		f := w.judge(ctx, ask)
		if late != nil {
			f.Notes = append(f.Notes, fmt.Sprintf("comparing with the baseline: %v", late))
		}
		w.found <- f
	}()
}

// take adds what the probes found.
func (w *watcher) take(ctx context.Context, f Finding) {
	if w.looking {
		if w.advised != nil && w.advised.measuring != 0 {
			w.cameOf(&f)
		} else {
			w.looked(f)
		}
		if w.judging != nil {
			w.startJudging(ctx)
		}
		return
	}
	x := w.judging // it may be over by now
	w.judging = nil
	if x == w.open && !x.told {
		w.tellOpen(ctx)
	}
	m := &x.Meta
	x.Finding, x.Sections, m.Cause, m.Title = f.Report, f.Sections, f.Cause, f.Title
	m.Notes = append(m.Notes, f.Notes...)
	m.Culprit = culpritOf(f.Report)
	w.pods.name(m.Culprit)
	w.adviseIn(x)
	if x == w.open {
		w.verdicts.set(f.Report, ofIncident)
	}
	w.save(x)
	w.log.Warn("an incident is diagnosed", "number", x.number.Load(), "cause", f.Cause)
	w.tell(ctx, notify.Judged, x)
}

// keepHours writes hours that are over.
func (w *watcher) keepHours(hours []sample.Hour) {
	if len(hours) == 0 {
		return
	}
	w.hours.add(hours)
	w.keeper.put(job{of: "hours", fails: "the baselines cannot be written",
		do: func() error { return w.hours.write(filepath.Join(w.config.Dir, "baselines")) }})
}

func (w *watcher) saveLimits(now time.Time) {
	if w.cgroupLimits == nil {
		return
	}
	w.keeper.put(job{of: w.cgroupLimits, fails: "the limits that are reached every day cannot be saved",
		do: func() error { return w.cgroupLimits.keep(w.config.Dir, now) }})
}

// prune removes what is too old or too much.
func (w *watcher) prune() error {
	err := summaries.Prune(filepath.Join(w.config.Dir, "baselines"))
	gone, err2 := incidents.Prune(w.dir(), mostKept)
	if len(gone) > 0 {
		w.log.Info("old incidents were removed to make room", "numbers", gone)
	}
	return errors.Join(missing(err), missing(err2))
}

// missing takes a folder that is not there yet for none.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finish keeps what is known so far. An incident that is open stays so: the
// next agent goes on with it.
func (w *watcher) finish(ctx context.Context) {
	if w.judging != nil && !w.looking {
		select {
		case f := <-w.found: // what the probes had seen by now
			if f.Report != nil {
				w.take(ctx, f)
			}
		case <-time.After(judgePatience):
		}
	}
	w.keepHours(w.watch.Flush())
	w.saveLimits(w.host.Now())
	if w.open == nil {
		w.keepNormal()
	}
	if w.open != nil {
		w.save(w.open)
	}
}

// end waits for the disk and the hooks, for so long that neither stands for the
// other's silence.
func (w *watcher) end(ctx context.Context, kept *sync.WaitGroup) {
	over := make(chan struct{})
	go func() {
		kept.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(keepPatience):
	}
	if w.open != nil && !w.open.told {
		w.tellOpen(ctx)
	}
	if w.telling != nil {
		select {
		case <-w.telling:
		case <-time.After(tellPatience):
			w.log.Error("the agent stops before an incident was sent to all receivers")
		}
	}
	<-over
}
