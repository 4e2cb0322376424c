// Package fleet asks a store that many agents send to: which hosts have which
// cause, since when, what they have in common, and which disks are slower than
// their like.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/fleet"
)

// Ask is what is asked for.
type Ask struct {
	Endpoint
	From, To  time.Time
	Match     string    // matchers of PromQL for all series, as zone="a"; "" for none
	HostLabel string    // that tells hosts apart
	Cause     string    // only this one; "" for all
	Sides     [2]string // that are compared: the name of a host, or matchers
	Note      func(string)
	Progress  func(string) // what is asked for now
}

const (
	healthy    = string(diagnose.Healthy)
	cannotTell = string(diagnose.Unknown)
)

// Host is a host with what was found on it in the time that was asked for.
type Host struct {
	Name   string
	Causes map[string]float64 // primary ones, with the largest weight; none where nobody looked
	Facts  []fleet.Fact       // sorted
}

// Is tells whether a host had a cause, or nothing but good health.
func (h *Host) Is(cause string) bool {
	_, ok := h.Causes[cause]
	return ok && (cause != healthy || len(h.Causes) == 1)
}

// Fleet is what is known of all hosts.
type Fleet struct {
	From, To time.Time
	Hosts    []Host             // by name
	Courses  map[string]*Course // by cause
	Twice    []string           // names that two machines have
	Factless int                // hosts with findings, and without facts
}

// Course is how many hosts had a cause, from instant to instant.
type Course struct {
	At    []time.Time
	Hosts []float64
	First time.Time // that it was seen in this time
	Now   int       // at the end
}

var matcherForm = regexp.MustCompile(`^\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(=|!=|=~|!~)\s*"`)

// check refuses what would be no query.
func (a *Ask) check() error {
	switch {
	case !a.From.Before(a.To):
		return &BadEndpoint{errors.New("the time ends before it begins; give an earlier --from")}
	case !regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`).MatchString(a.HostLabel):
		return &BadEndpoint{fmt.Errorf("reading --host-label: %q is not a label name", a.HostLabel)}
	case a.Match != "" && !matcherForm.MatchString(a.Match):
		return &BadEndpoint{fmt.Errorf("reading --match: %q is not a matcher; write it like zone=\"a\"", a.Match)}
	}
	return nil
}

// series is a selector of PromQL.
func (a *Ask) series(name string, matchers ...string) string {
	if a.Match != "" {
		matchers = append(matchers, a.Match)
	}
	return name + "{" + strings.Join(matchers, ",") + "}"
}

// window is the length of the time that is asked for, as PromQL writes it.
func (a *Ask) window() string { return fmt.Sprintf("[%ds]", int(a.To.Sub(a.From).Seconds())) }

const mostPoints = 60 // of a course

// client asks the store, of what makes sense.
func (a *Ask) client() (*client, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	return newClient(&a.Endpoint, a.Note)
}

// Observe asks for hosts by cause, their course and the hosts' facts.
func Observe(ctx context.Context, a *Ask) (*Fleet, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	defer c.close()
	f, err := a.observe(ctx, c)
	if err == nil && f.looked() == 0 {
		err = fmt.Errorf("asking %s: it has no iocause_finding from %s to %s; agents have to send (remote_write) or be scraped, and look once an hour",
			c.base, a.From.Format(time.RFC3339), a.To.Format(time.RFC3339))
	}
	return f, err
}

// observe is Observe, of hosts that there may be none of.
func (a *Ask) observe(ctx context.Context, c *client) (*Fleet, error) {
	primary := a.series("iocause_finding", `rank="primary"`)
	a.Progress("which hosts had which cause, since when, and what they are")
	step := max((a.To.Sub(a.From) / mostPoints).Round(time.Second), time.Second)
	var found, courses, facts, devices []line
	at := func(into *[]line, expr string) func() error {
		return func() (err error) {
			*into, err = c.at(ctx, expr, a.To)
			return err
		}
	}
	err := atOnce(
		at(&found, fmt.Sprintf("max by (%s, cause) (max_over_time(%s%s))", a.HostLabel, primary, a.window())),
		a.over(ctx, c, &courses, fmt.Sprintf("count by (cause) (group by (%s, cause) (%s))", a.HostLabel, primary), step),
		at(&facts, fmt.Sprintf("last_over_time(%s%s)", a.series("", `__name__=~"iocause_host_(info|settings)"`), a.window())),
		at(&devices, fmt.Sprintf("last_over_time(%s%s)", a.series("iocause_device_info"), a.window())))
	if err != nil {
		return nil, err
	}
	f := &Fleet{From: a.From, To: a.To, Courses: map[string]*Course{}}
	f.take(a.HostLabel, found, facts, devices)
	for _, l := range courses {
		f.course(l, a.From.Add(step), step)
	}
	return f, nil
}

// about are labels that say how a series came, not what the host is.
func about() []string {
	return []string{"__name__", "job", "machine", "device", "prometheus_replica", "replica"}
}

// take makes hosts of the answers.
func (f *Fleet) take(label string, found, facts, devices []line) {
	by := map[string]*Host{}
	host := func(l *line) *Host {
		name := l.Metric[label]
		h := by[name]
		if h == nil {
			h = &Host{Name: name, Causes: map[string]float64{}}
			by[name] = h
		}
		return h
	}
	for i := range found {
		l := &found[i]
		h := host(l)
		h.Causes[l.Metric["cause"]] = max(h.Causes[l.Metric["cause"]], l.Value.value)
	}
	machines := map[string]string{}
	twice := map[string]bool{}
	for i := range facts {
		l := &facts[i]
		h := host(l)
		if m := l.Metric["machine"]; m != "" {
			if before, ok := machines[h.Name]; ok && before != m {
				twice[h.Name] = true
			}
			machines[h.Name] = m
		}
		h.add("", label, l.Metric)
	}
	for i := range devices {
		host(&devices[i]).add("disk.", label, devices[i].Metric)
	}
	f.Twice = slices.Sorted(maps.Keys(twice))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		h := by[name]
		slices.SortFunc(h.Facts, func(a, b fleet.Fact) int {
			return cmp.Or(strings.Compare(a.Setting, b.Setting), strings.Compare(a.Value, b.Value))
		})
		h.Facts = slices.Compact(h.Facts)
		if len(h.Facts) == 0 {
			f.Factless++
		}
		f.Hosts = append(f.Hosts, *h)
	}
}

// add takes the labels of an info series for facts.
func (h *Host) add(prefix, label string, metric map[string]string) {
	for name, value := range metric {
		if name != label && !slices.Contains(about(), name) {
			h.Facts = append(h.Facts, fleet.Fact{Setting: prefix + name, Value: value})
		}
	}
}

// course takes one line of hosts by time; an instant without a value is none.
func (f *Fleet) course(l line, from time.Time, step time.Duration) {
	c := &Course{}
	for t := from; !t.After(f.To); t = t.Add(step) {
		c.At = append(c.At, t)
	}
	c.Hosts = make([]float64, len(c.At))
	for _, p := range l.Values {
		if i := int(math.Round(p.at.Sub(from).Seconds() / step.Seconds())); i >= 0 && i < len(c.Hosts) { // the store tells milliseconds
			c.Hosts[i] = p.value
		}
		if c.First.IsZero() && p.value > 0 {
			c.First = p.at
		}
	}
	if n := len(c.Hosts); n > 0 {
		c.Now = int(c.Hosts[n-1])
	}
	f.Courses[l.Metric["cause"]] = c
}
