package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/series"
)

const (
	findingWeight     sample.Metric = "finding"
	findingConfidence sample.Metric = "finding.confidence"

	ofLook     = "look"     // once an hour, while nothing is abnormal
	ofIncident = "incident" // since it was judged, until it is over

	mostFindings = 5 // of a report that are told
	lookStands   = 2 * normalEvery
)

// verdicts are the causes that hold now, as series: a closed list of causes, a
// hash for each culprit, and no name. Safe for concurrent use.
type verdicts struct {
	now func() time.Time

	mu    sync.Mutex
	told  []toldCause
	until time.Time // after which they are not told any more; zero: until they end
	last  Verdict
	all   map[string]*series.Series
}

// toldCause is one cause of a report.
type toldCause struct {
	labels             []series.Label
	weight, confidence float64 // confidence is -1 where none is told
}

// report is what is read of a diagnosis (docs/verdict.md).
type report struct {
	Primary  string
	Findings []struct {
		Cause              string
		Weight, Confidence float64
		Culprit            struct{ Comm, Cgroup, Device string }
	}
}

// set tells a report, in place of the one before; one that cannot be read, as of
// a look that was stopped, leaves nothing.
func (v *verdicts) set(document json.RawMessage, of string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told, v.until = nil, time.Time{}
	if of == ofLook {
		v.until = v.now().Add(lookStands)
	}
	var r report
	if json.Unmarshal(document, &r) != nil || r.Primary == "" {
		return
	}
	v.last = Verdict{Of: of, Report: document}
	add := func(rank, cause string, more []series.Label, weight, confidence float64) {
		labels := append([]series.Label{{Name: "cause", Value: cause}, {Name: "rank", Value: rank}, {Name: "of", Value: of}}, more...)
		v.told = append(v.told, toldCause{labels, weight, confidence})
	}
	if len(r.Findings) == 0 {
		add("primary", r.Primary, nil, 0, -1) // healthy, or cannot tell
	}
	for i, f := range r.Findings[:min(len(r.Findings), mostFindings)] {
		rank := rankOf(i)
		c := culprit(f.Cause, f.Culprit.Comm, f.Culprit.Cgroup, f.Culprit.Device)
		var more []series.Label
		if c != nil {
			more = []series.Label{{Name: "culprit_kind", Value: c.Kind}, {Name: "culprit", Value: c.ID}}
		}
		add(rank, f.Cause, more, f.Weight, f.Confidence)
	}
}

func rankOf(i int) string {
	if i == 0 {
		return "primary"
	}
	return "contributing"
}

// Verdict is what was found last, however long ago.
type Verdict struct {
	Of     string          // "look", once an hour, or "incident"
	Report json.RawMessage // of diagnose (docs/verdict.md), with names; nil while nobody has looked
}

// Verdict is what the agent found last since it was started.
func (a *Agent) Verdict() Verdict {
	a.verdicts.mu.Lock()
	defer a.verdicts.mu.Unlock()
	return a.verdicts.last
}

// end tells nothing any more.
func (v *verdicts) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told = nil
}

// take is what holds now, and the series that do not any more.
func (v *verdicts) take() (values []series.Value, ended []*series.Series) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.until.IsZero() && v.now().After(v.until) {
		v.told = nil
	}
	next := map[string]*series.Series{}
	put := func(m sample.Metric, unit sample.Unit, labels []series.Label, value float64) {
		key := fmt.Sprint(m, labels)
		if next[key] != nil {
			return // a cause with two findings of one culprit: the first weighs more
		}
		if next[key] = v.all[key]; next[key] == nil {
			next[key] = series.New(series.NameOf(sample.Info{Metric: m, Unit: unit, Kind: sample.Gauge}), labels...)
		}
		values = append(values, series.Value{Of: next[key], V: series.Short(value)})
	}
	for _, c := range v.told {
		put(findingWeight, sample.Count, c.labels, c.weight)
		if c.confidence >= 0 {
			put(findingConfidence, sample.Ratio, c.labels, c.confidence)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.all)) {
		if next[key] == nil {
			ended = append(ended, v.all[key])
		}
	}
	v.all = next
	return values, ended
}

// changing are the parts of names that differ from one start, pod or worker to
// the next.
var changing = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// culprit is who a cause is told of: a device, a cgroup or a program, by what
// the cause is about; nil for nobody. The numbers in its name do not count, so
// that the same program has one hash on all hosts.
func culprit(cause, comm, cgroup, device string) *incidents.Culprit {
	kind, name := "process", comm
	switch {
	case strings.HasPrefix(cause, "device-") && device != "":
		kind, name = "device", device
	case strings.HasPrefix(cause, "cgroup-") && cgroup != "" || comm == "" && cgroup != "":
		kind, name = "cgroup", cgroup
	case comm == "" && ofServer(device):
		kind, name = "server", device
	case comm == "" && device != "":
		kind, name = "device", device
	case comm == "":
		return nil
	}
	id := hashed(kind, changing.ReplaceAllString(name, "#"))
	if kind == "server" { // of which there may be several, told apart by a number
		id = hashed(kind, name)
	}
	return &incidents.Culprit{Kind: kind, Name: name, ID: id, Identity: sample.IdentityOf(cgroup)}
}

// ofServer tells whether a culprit's device is a file system of a server, as
// server:/export or //server/share.
func ofServer(device string) bool {
	return strings.Contains(device, ":/") || strings.HasPrefix(device, "//")
}

// culpritOf is the one behind a report's primary cause.
func culpritOf(document json.RawMessage) *incidents.Culprit {
	var r report
	if json.Unmarshal(document, &r) != nil || len(r.Findings) == 0 {
		return nil
	}
	f := r.Findings[0]
	return culprit(f.Cause, f.Culprit.Comm, f.Culprit.Cgroup, f.Culprit.Device)
}
