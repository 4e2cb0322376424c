// Package check says what can be observed here, and which verdicts that allows.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// Limit is how long the check takes at most, unless somebody says otherwise, and
// Least the shortest that can be asked for: two thirds of it to open the sources. A
// machine that is emulated or overloaded takes tens of seconds to load programs; all
// others are ready within one, and only a source that hangs takes them all.
const (
	Limit = 60 * time.Second
	Least = 3 * time.Second
)

// patience is how long one source may take to be read.
const patience = 3 * time.Second

// window is how long the sources are read.
const window = 200 * time.Millisecond

// Found is what the check found out.
type Found struct {
	Sources  []Source  `json:"sources"`
	Verdicts []Verdict `json:"verdicts"`
}

// State is how a source fares here.
type State string

// The states; a source works in part when it said itself that it lacks
// something.
const (
	Works        State = "works"
	InPart       State = "in part"
	NotSupported State = "not supported"
	Failed       State = "failed"
)

// Source is how one source fares.
type Source struct {
	Name  string   `json:"name"`
	State State    `json:"state"`
	Why   []string `json:"why,omitempty"`
	Needs string   `json:"needs,omitempty"` // when it does not work
	// Costs are the verdicts that cannot be had without what is missing of it,
	// Replaced those that other sources' figures are taken for in its place.
	Costs    []diagnose.ID `json:"costs,omitempty"`
	Replaced []diagnose.ID `json:"replaced,omitempty"`
	// Ways is how it asks the kernel, where kernels differ in that.
	Ways []sample.Way `json:"ways,omitempty"`
}

// Verdict is whether a cause can be judged.
type Verdict struct {
	Cause    diagnose.ID `json:"cause"`
	Possible bool        `json:"possible"`
	Missing  []string    `json:"missing,omitempty"` // "a or b": one of them would do
}

// Impossible are the verdicts that cannot be had here.
func (f *Found) Impossible() []Verdict {
	return slices.DeleteFunc(slices.Clone(f.Verdicts), func(v Verdict) bool { return v.Possible })
}

// Observe opens and reads every source, and gives up at the limit.
func Observe(ctx context.Context, h *host.Host, sources []source.Entry, limit time.Duration) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan *Found, 1)
	go func() { done <- tryAll(ctx, h, sources, limit) }()
	select {
	case found := <-done:
		return found, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("reading every source: %w within %v; the machine may be overloaded, try again with a longer --timeout", ctx.Err(), limit)
	}
}

// tryAll opens and reads every source.
func tryAll(ctx context.Context, h *host.Host, sources []source.Entry, limit time.Duration) *Found {
	open, cancel := context.WithTimeout(ctx, limit*2/3)
	defer cancel()
	collector := source.Open(open, h, sources)
	defer collector.Close()
	if end, ok := ctx.Deadline(); ok { // to name what hangs before the check itself is over
		collector.Patience = min(max(time.Until(end)/2, 100*time.Millisecond), patience)
	}
	collector.Begin()
	w := collector.Observe(ctx, source.Observation{Length: window})
	all := collector.Statuses()
	c, has := &Found{}, source.Offered(all, w)
	for i := range all {
		s := tryOne(&all[i])
		if s.State != Works {
			s.Costs, s.Replaced = costs(diagnose.List(), all[i].Metrics, has)
		}
		c.Sources = append(c.Sources, s)
	}
	c.Verdicts = verdicts(diagnose.List(), has)
	return c
}

func tryOne(s *source.Status) Source {
	out := Source{Name: s.Name, State: Works, Ways: s.Ways}
	for _, g := range s.Gaps {
		out.State = InPart
		out.Why = append(out.Why, g.Why)
	}
	if err := cmp.Or(s.OpenErr, s.Err); err != nil {
		out.State = Failed
		if isUnsupported(err) {
			out.State = NotSupported
		}
		out.Why = append([]string{err.Error()}, out.Why...)
		if !errors.Is(err, bpf.ErrGuarded) { // who has what it needs, and what to do, was said
			out.Needs = s.Needs
		}
	}
	return out
}

// isUnsupported tells a kernel that lacks something from a failure that
// privileges or another try may cure.
func isUnsupported(err error) bool {
	for _, lacks := range []error{bpf.ErrNotSupported, bpf.ErrNoBTF, errors.ErrUnsupported, fs.ErrNotExist} {
		if errors.Is(err, lacks) {
			return true
		}
	}
	return false
}

// costs says of which causes it is the lack of some of these metrics that they
// cannot be judged, and which have to be judged by others.
func costs(causes []diagnose.Cause, metrics []sample.Metric, has map[sample.Metric]bool) (impossible, replaced []diagnose.ID) {
	lacks := func(m sample.Metric) bool { return !has[m] && slices.Contains(metrics, m) }
	for _, cause := range causes {
		worst := 0
		for _, oneOf := range cause.Needs {
			switch {
			case !slices.ContainsFunc(oneOf, lacks):
			case slices.ContainsFunc(oneOf, func(m sample.Metric) bool { return has[m] }):
				worst = max(worst, 1)
			default:
				worst = 2
			}
		}
		switch worst {
		case 1:
			replaced = append(replaced, cause.ID)
		case 2:
			impossible = append(impossible, cause.ID)
		}
	}
	return impossible, replaced
}

// verdicts says which causes can be judged with the metrics there are: of
// each list in Needs one.
func verdicts(causes []diagnose.Cause, has map[sample.Metric]bool) []Verdict {
	var out []Verdict
	for _, cause := range causes {
		v := Verdict{Cause: cause.ID, Possible: true}
		for _, oneOf := range cause.Needs {
			if slices.ContainsFunc(oneOf, func(m sample.Metric) bool { return has[m] }) {
				continue
			}
			var names []string
			for _, m := range oneOf {
				names = append(names, string(m))
			}
			v.Possible = false
			v.Missing = append(v.Missing, strings.Join(names, " or "))
		}
		out = append(out, v)
	}
	return out
}
