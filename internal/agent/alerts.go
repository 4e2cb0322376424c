package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"iocause/internal/notify"
	"iocause/internal/store/incidents"
	"iocause/internal/store/whole"
)

// alerts tells Alertmanagers of incidents: again and again while one lasts, for
// what is not told again is taken for over, and once more when it is over. What
// is to be told is kept in a file, so that an agent that is started anew goes on
// where the one before was. Safe for concurrent use.
type alerts struct {
	to       []*notify.Alertmanager
	instance string
	labels   map[string]string // besides those of the incident
	path     string
	log      *slog.Logger
	now      func() time.Time
	keep     func(job)
	again    time.Duration // after which it is told again
	soon     time.Duration // after it failed
	wake     chan struct{}

	mu  sync.Mutex
	all []*alert
}

// alert is what is told of an incident.
type alert struct {
	Incident time.Time         `json:"incident"` // when it began: its number comes later
	Labels   map[string]string `json:"labels"`
	Notes    map[string]string `json:"annotations"`
	Start    time.Time         `json:"start"`
	End      time.Time         `json:"end,omitzero"`   // zero while it lasts
	Wait     time.Time         `json:"wait,omitzero"`  // it is not told before: its cause is being looked for
	Told     bool              `json:"told"`           // somebody has taken it
	Over     map[string]bool   `json:"over,omitempty"` // who knows that it is over
}

const (
	alertsIn    = "alerts" // the file
	alertName   = "IocauseIncident"
	notJudged   = "not-judged"    // label cause of an incident whose cause was not looked for
	tellAgain   = time.Minute     // an Alertmanager forgets after resolve_timeout, 5 minutes if nobody said else
	tellSoon    = 5 * time.Second // after it failed
	judgeWait   = 2 * time.Minute // for the cause, before an incident is told without
	overKept    = 24 * time.Hour  // so long it is tried to tell that an incident is over
	mostWords   = 1000            // bytes of an annotation
	alertAnswer = 10 * time.Second
)

// newAlerts goes on with what was told before; nil where nobody is to be told.
func newAlerts(c *Config, instance string, log *slog.Logger, now func() time.Time, keep func(job)) *alerts {
	a := &alerts{instance: instance, labels: c.Incidents.Alertmanager.Labels, path: filepath.Join(c.Dir, alertsIn), log: log, now: now, keep: keep,
		again: tellAgain, soon: tellSoon, wake: make(chan struct{}, 1)}
	for _, url := range c.Incidents.Alertmanager.URLs {
		one, err := notify.NewAlertmanager(url, c.Incidents.Alertmanager.TokenFile, c.Incidents.Alertmanager.CAFile)
		if err != nil {
			log.Error("incidents cannot be sent to an Alertmanager", "why", err)
			continue
		}
		a.to = append(a.to, one)
	}
	if len(a.to) == 0 {
		return nil
	}
	if err := readKept(a.path, &a.all); err != nil {
		log.Error("it is not known which alerts were sent: those of incidents that have ended will resolve after resolve_timeout", "why", err)
		a.all = nil
	}
	return a
}

// resume goes on with the incident that is open, nil for none: whatever else was
// told is over.
func (a *alerts) resume(open *incidents.Meta, judging bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	for _, x := range a.all {
		if x.End.IsZero() && (open == nil || !x.Incident.Equal(open.What.Start)) {
			x.End = a.now()
		}
	}
	a.mu.Unlock()
	if open != nil {
		a.tell(open, judging)
	}
}

// tell tells an incident as it is now. judging says that its cause will soon be
// known: it is told with that.
func (a *alerts) tell(m *incidents.Meta, judging bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	labels, notes := a.words(m)
	at := slices.IndexFunc(a.all, func(x *alert) bool { return x.Incident.Equal(m.What.Start) && x.End.IsZero() })
	if at >= 0 && !maps.Equal(a.all[at].Labels, labels) {
		if a.all[at].Told {
			a.all[at].End = a.now() // it goes on under another name
			at = -1
		} else {
			a.all[at].Labels = labels
		}
	}
	if !m.Open && (at < 0 || !a.all[at].Told) { // nobody was told that it began
		if at >= 0 {
			a.all = slices.Delete(a.all, at, at+1)
			a.save()
			a.log.Info("an incident was over before an Alertmanager received it", "number", m.Number)
		}
		return
	}
	if at < 0 {
		a.all = append(a.all, &alert{Incident: m.What.Start, Labels: labels, Start: m.What.Start})
		at = len(a.all) - 1
	}
	x := a.all[at]
	x.Notes, x.Wait = notes, time.Time{}
	if judging {
		x.Wait = a.now().Add(judgeWait)
	}
	if !m.Open {
		x.End = a.now()
	}
	a.save()
	signal(a.wake)
}

// words are the labels and annotations of an incident. Labels hold no name from
// the system but the host's: what is one thing behind incidents of many hosts,
// such as a file server, has one hash on all.
func (a *alerts) words(m *incidents.Meta) (labels, notes map[string]string) {
	labels = map[string]string{"instance": a.instance, "severity": "warning"}
	maps.Copy(labels, a.labels)
	labels["alertname"], labels["cause"] = alertName, cmp.Or(m.Cause, notJudged)
	short := func(s string) string {
		s = harmless(s)
		return strings.ToValidUTF8(s[:min(len(s), mostWords)], "")
	}
	notes = map[string]string{"summary": short(cmp.Or(m.Title, "the machine behaves abnormally")), "description": short(summary(&m.What)), "host": short(m.Host)}
	if m.Number != 0 {
		notes["incident"] = strconv.Itoa(m.Number)
		notes["look"] = "iocause incident " + strconv.Itoa(m.Number)
	}
	if c := m.Culprit; c != nil {
		labels["culprit_kind"], labels["culprit"] = c.Kind, c.ID
		notes["culprit"] = short(c.Name)
		if c.PodName != "" {
			notes["pod"] = short(c.Namespace + "/" + c.PodName)
		}
	}
	return labels, notes
}

// run tells until ctx ends.
func (a *alerts) run(ctx context.Context) {
	if a == nil {
		return
	}
	said := map[string]bool{} // of which address it was said that it fails
	for {
		pause := a.again
		if a.tellAll(ctx, said) {
			pause = a.soon
		}
		if wait, is := a.nextWait(); is {
			pause = min(pause, max(wait, time.Second))
		}
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-time.After(pause):
		}
	}
}

// nextWait is how long it takes until something may be told that waits.
func (a *alerts) nextWait() (d time.Duration, is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.all { // who waited, and is told or over, waits no more
		if left := x.Wait.Sub(a.now()); x.End.IsZero() && left > 0 && (!is || left < d) {
			d, is = left, true
		}
	}
	return d, is
}

// due is an alert as it is told now.
type due struct {
	*alert
	over bool
}

// due are the alerts to be told to one address.
func (a *alerts) due(to string) (all []due, told []notify.Alert) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.all {
		over := !x.End.IsZero()
		if over && x.Over[to] || !over && a.now().Before(x.Wait) {
			continue
		}
		all = append(all, due{x, over})
		told = append(told, notify.Alert{Labels: x.Labels, Annotations: x.Notes, Start: x.Start, End: x.End})
	}
	return all, told
}

// tellAll tells every address what is due, and whether one failed.
func (a *alerts) tellAll(ctx context.Context, said map[string]bool) (failed bool) {
	errs, dues := make([]error, len(a.to)), make([][]due, len(a.to))
	var group sync.WaitGroup
	for i, to := range a.to {
		all, told := a.due(to.Key())
		if dues[i] = all; len(all) == 0 {
			continue
		}
		group.Go(func() {
			one, cancel := context.WithTimeout(ctx, alertAnswer)
			defer cancel()
			errs[i] = to.Post(one, told)
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return false
	}
	for i, to := range a.to {
		never := errors.Is(errs[i], notify.ErrNotTaken)
		switch {
		case errs[i] != nil && !said[to.Key()]:
			then := "it will be retried"
			if never {
				then = "they are dropped"
			}
			a.log.Error("alerts cannot be sent; "+then, "why", errs[i])
			said[to.Key()] = true
		case errs[i] == nil && said[to.Key()] && len(dues[i]) > 0:
			a.log.Info("alerts can be sent again", "to", to.Host())
			said[to.Key()] = false
		}
		failed = failed || errs[i] != nil && !never
		if errs[i] == nil || never {
			a.taken(to.Key(), dues[i])
		}
	}
	return failed
}

// taken notes what an address has taken, and forgets what all know to be over.
func (a *alerts) taken(by string, all []due) {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := false
	for _, x := range all {
		changed = changed || !x.Told || x.over
		if x.Told = true; !x.over {
			continue
		}
		if x.Over == nil {
			x.Over = map[string]bool{}
		}
		x.Over[by] = true
	}
	kept := len(a.all)
	a.all = slices.DeleteFunc(a.all, func(x *alert) bool {
		if x.End.IsZero() {
			return false
		}
		known := !slices.ContainsFunc(a.to, func(to *notify.Alertmanager) bool { return !x.Over[to.Key()] })
		return known || a.now().Sub(x.End) > overKept
	})
	if changed || len(a.all) != kept {
		a.save()
	}
}

// document is what the file has.
func (a *alerts) document() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := json.Marshal(a.all)
	if err != nil {
		return nil, fmt.Errorf("packing alerts: %w", err)
	}
	return b, nil
}

// save has the file written, with the lock held or not.
func (a *alerts) save() {
	a.keep(job{of: a, fails: "the list of sent alerts cannot be saved", do: func() error {
		b, err := a.document()
		if err != nil {
			return err
		}
		return whole.Write(a.path, 0o600, whole.Bytes(b))
	}})
}

// harmless is a text without what a terminal or a page could obey: it is shown by
// whatever Alertmanager sends it to.
func harmless(s string) string {
	q := strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
