package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"iocause/internal/notify"
	"iocause/internal/outbound"
	"iocause/internal/store/incidents"
	"iocause/internal/store/whole"
)

// events sends what happens to incidents as log records of OpenTelemetry, in
// order. What nobody has taken yet is kept in a file. Safe for concurrent use.
type events struct {
	to   *notify.Logs
	path string
	log  *slog.Logger
	now  func() time.Time
	keep func(job)
	pods *podNames
	soon time.Duration // after it failed
	wake chan struct{}

	mu  sync.Mutex
	all []notify.Record // oldest first
}

const (
	eventsIn   = "events" // the file
	mostEvents = 1000     // that wait
	inOneEvent = 100      // of them, in a request
)

// newEvents goes on with what was not sent; nil where nothing is.
func newEvents(c *Config, instance string, log *slog.Logger, now func() time.Time, keep func(job)) *events {
	if c.OTLP.URL == "" || !c.OTLP.Logs {
		return nil
	}
	of := map[string]string{"service.name": "iocause", "os.type": "linux", "host.name": cmp.Or(c.OTLP.Labels["instance"], instance)}
	of["service.instance.id"] = of["host.name"]
	for name, value := range c.OTLP.Labels {
		if name != "instance" {
			of[name] = value
		}
	}
	client, err := outbound.Client(c.OTLP.CAFile)
	if err != nil {
		log.Error("events are not sent", "why", err)
		return nil
	}
	e := &events{path: filepath.Join(c.Dir, eventsIn), log: log, now: now, keep: keep, soon: tellSoon, wake: make(chan struct{}, 1),
		to: &notify.Logs{URL: c.OTLP.endpoint("logs"), TokenFile: c.OTLP.TokenFile, Resource: of,
			Client: client}}
	if err := readKept(e.path, &e.all); err != nil {
		log.Error("unsent events cannot be read; they are dropped", "why", err)
		e.all = nil
	}
	return e
}

// tell has an event of an incident sent.
func (e *events) tell(action notify.Action, m *incidents.Meta) {
	if e == nil {
		return
	}
	at := map[string]string{
		"iocause.incident.start": m.What.Start.UTC().Format(time.RFC3339Nano),
		// The same event has the same, should it arrive twice.
		"log.record.uid": hashed("event", string(action)+m.What.Start.UTC().Format(time.RFC3339Nano)),
	}
	if m.Number != 0 {
		at["iocause.incident.number"], at["iocause.incident.look"] = strconv.Itoa(m.Number), "iocause incident "+strconv.Itoa(m.Number)
	}
	if m.Cause != "" {
		at["iocause.cause"] = m.Cause
	}
	if c := m.Culprit; c != nil {
		maps.Copy(at, culpritAttributes(c))
	}
	body := harmless(summary(&m.What))
	if m.Title != "" {
		body = harmless(m.Title) + ": " + body
	}
	e.put(notify.Record{At: e.now(), Name: "iocause.incident." + string(action), Warning: action != notify.Close, Body: body, Attributes: at})
}

// tellLook has the findings of an hourly look sent, each as an event of its own, with
// the command that shows what it was found in. One that found nothing is an event,
// too: somebody looked.
func (e *events) tellLook(document json.RawMessage, began time.Time, file string) {
	var r report
	if e == nil || json.Unmarshal(document, &r) != nil || r.Primary == "" {
		return
	}
	event := func(rank, cause, body string, warning bool, more map[string]string) {
		at := map[string]string{
			"iocause.cause": cause, "iocause.rank": rank, "iocause.of": ofLook,
			"iocause.look.start":    began.UTC().Format(time.RFC3339Nano),
			"iocause.look.evidence": "iocause diagnose --recording " + file,
			"log.record.uid":        hashed("event", ofLook+rank+cause+more["iocause.culprit.id"]+began.UTC().Format(time.RFC3339Nano)),
		}
		maps.Copy(at, more)
		e.put(notify.Record{At: e.now(), Name: "iocause.finding", Warning: warning, Body: harmless(body), Attributes: at})
	}
	if len(r.Findings) == 0 {
		event("primary", r.Primary, "no cause of slow I/O: "+r.Primary, false, nil)
	}
	for i, f := range r.Findings[:min(len(r.Findings), mostFindings)] {
		more := map[string]string{
			"iocause.weight":     strconv.FormatFloat(f.Weight, 'g', 3, 64),
			"iocause.confidence": strconv.FormatFloat(f.Confidence, 'g', 3, 64),
		}
		who := ""
		if c := culprit(f.Cause, f.Culprit.Comm, f.Culprit.Cgroup, f.Culprit.Device); c != nil {
			e.pods.name(c)
			maps.Copy(more, culpritAttributes(c))
			who = " (" + c.Kind + " " + c.Name + ")"
		}
		event(rankOf(i), f.Cause, f.Cause+who, true, more)
	}
}

// culpritAttributes are who is behind a finding, by name.
func culpritAttributes(c *incidents.Culprit) map[string]string {
	at := map[string]string{"iocause.culprit.kind": c.Kind, "iocause.culprit.id": c.ID, "iocause.culprit.name": harmless(c.Name)}
	for name, value := range map[string]string{"container.id": c.Container, "k8s.pod.uid": c.Pod, "iocause.culprit.unit": c.Unit,
		"k8s.pod.name": c.PodName, "k8s.namespace.name": c.Namespace, "k8s.container.name": c.ContainerName} {
		if value != "" {
			at[name] = harmless(value)
		}
	}
	return at
}

// put adds an event to those that wait.
func (e *events) put(r notify.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, r)
	if over := len(e.all) - mostEvents; over > 0 {
		e.all = slices.Delete(e.all, 0, over)
		e.log.Error("too many events wait to be sent: the oldest are dropped", "left_out", over)
	}
	e.save()
	signal(e.wake)
}

// save has the file written.
func (e *events) save() {
	e.keep(job{of: e, fails: "unsent events cannot be saved", do: func() error {
		e.mu.Lock()
		b, err := json.Marshal(e.all)
		e.mu.Unlock()
		if err != nil {
			return err
		}
		return whole.Write(e.path, 0o600, whole.Bytes(b))
	}})
}

// run sends until ctx ends.
func (e *events) run(ctx context.Context) {
	if e == nil {
		return
	}
	said := false
	for {
		err := e.send(ctx)
		var again <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !said {
				e.log.Error("events cannot be sent", "why", err)
				said = true
			}
			again = time.After(e.soon)
		case said:
			e.log.Info("events can be sent again")
			said = false
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-e.wake:
		}
	}
}

// send sends what waits. What is refused for good is left out.
func (e *events) send(ctx context.Context) error {
	for {
		e.mu.Lock()
		some := slices.Clone(e.all[:min(len(e.all), inOneEvent)])
		e.mu.Unlock()
		if len(some) == 0 {
			return nil
		}
		one, cancel := context.WithTimeout(ctx, alertAnswer)
		err := e.to.Post(one, some)
		cancel()
		switch {
		case errors.Is(err, notify.ErrNotTaken):
			e.log.Error("the receiver refuses events; they are dropped", "why", err)
		case err != nil:
			return err
		}
		e.mu.Lock()
		// Meanwhile the oldest may have been left out.
		e.all = slices.DeleteFunc(e.all, func(r notify.Record) bool {
			return slices.ContainsFunc(some, func(x notify.Record) bool {
				return x.At.Equal(r.At) && x.Name == r.Name && x.Attributes["log.record.uid"] == r.Attributes["log.record.uid"]
			})
		})
		e.save()
		e.mu.Unlock()
	}
}

// endpoint is where one kind of signal goes.
func (o *OTLP) endpoint(signal string) string { return strings.TrimRight(o.URL, "/") + "/v1/" + signal }
