package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/agent"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
	"iocause/internal/store/series"
)

// A span of what the agent records all the time is made into a recording as
// 'iocause record' makes them, and played as such: through the same code.

const (
	storeSource  = "recording of iocause agent"
	storeWindows = 360 // of a span, at most
	storeTicks   = 10  // values of each series in a window
)

// agentSpan reads --from and --to of what the agent records.
func (a *app) agentSpan(p *playback) (from, to time.Time, err error) {
	return a.agentTimes(p.from, p.to, "from", "to")
}

// agentTimes reads a span of what the agent records from flags of these names.
func (a *app) agentTimes(fromText, toText, fromFlag, toFlag string) (from, to time.Time, err error) {
	now := a.host.Now()
	to = now
	for _, x := range []struct {
		flag, text string
		to         *time.Time
	}{{fromFlag, fromText, &from}, {toFlag, toText, &to}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = when(x.text, now); err != nil {
			return from, to, &usageError{fmt.Errorf("reading --%s: %w", x.flag, err), whenHelp}
		}
	}
	switch {
	case fromText == "":
		return from, to, &usageError{errors.New("reading the flags: it is not said from when on"), "give --" + fromFlag + ", or the file of a recording"}
	case !from.Before(to):
		return from, to, &usageError{fmt.Errorf("reading --%s: %s is not before %s", fromFlag, stamp(from), stamp(to)), "give an earlier time"}
	}
	return from, to, nil
}

// playAgent opens what the agent recorded in a span. Where the command asks for
// what no series has, the newest incident of that time is played instead.
func (a *app) playAgent(p *playback, ofProbes bool) (*played, error) {
	from, to, err := a.agentSpan(p)
	if err != nil {
		return nil, err
	}
	for i, e := range a.judgedBetween(p.dir, from, to) {
		path := text.Escape(e.Path)
		if !ofProbes || i > 0 {
			fmt.Fprintf(a.stderr, "iocause: incident %d (%s, %s) is of that time: --recording %s has processes, files and single I/Os\n",
				e.Number, stamp(e.Meta.What.Start), text.Escape(e.Meta.Cause), path)
			continue
		}
		one, err := a.playSpan(e.Path, "", "", "from", "to")
		if err != nil {
			fmt.Fprintf(a.stderr, "iocause: incident %d: %s\n", e.Number, text.Escape(err.Error()))
			ofProbes = false
			continue
		}
		fmt.Fprintf(a.stderr, "iocause: this is what the probes saw of incident %d, for %s from %s on\n", e.Number,
			text.Duration(one.end.Sub(one.begin).Seconds()), stamp(one.begin))
		return one, nil
	}
	data, err := a.agentRecording(p.dir, from, to)
	if err != nil {
		return nil, err
	}
	return a.playMade(data)
}

// playMade opens a recording that was made of the agent's series.
func (a *app) playMade(data []byte) (*played, error) {
	one, err := a.playFile("the recording of the agent", inMemory{bytes.NewReader(data)}, int64(len(data)), "", "", "", "")
	if err != nil {
		return nil, err
	}
	one.ofAgent = true
	return one, nil
}

// agentHas tells whether a metric of the host is in what the agent recorded in a
// span, or shortly before it. What is wrong with either is said by who plays it.
func (a *app) agentHas(p *playback, m sample.Metric) bool {
	if p.file != "" {
		return false
	}
	from, to, err := a.agentSpan(p)
	if err != nil {
		return false
	}
	r, err := series.OpenReader(p.dir)
	if err != nil {
		return false
	}
	defer r.Close()
	all := sample.Catalog()
	at := slices.IndexFunc(all, func(i sample.Info) bool { return i.Metric == m })
	found, err := r.Find(context.Background(), []string{agent.SeriesName(all[at])}, from, to)
	return err == nil && len(found) > 0
}

// judgedBetween are the incidents of a span that have a finding, the newest
// first. That they cannot be read is said: the series say what there is.
func (a *app) judgedBetween(dir string, from, to time.Time) []incidents.Entry {
	all, err := a.incidentsBetween(dir, from, to)
	if err != nil {
		fmt.Fprintf(a.stderr, "iocause: %s%s\n", text.Escape(err.Error()), asRoot(err))
	}
	return slices.DeleteFunc(all, func(e incidents.Entry) bool { return e.Meta.Cause == "" })
}

// incidentsBetween are the incidents of a span, the newest first.
func (a *app) incidentsBetween(dir string, from, to time.Time) ([]incidents.Entry, error) {
	all, err := incidents.List(filepath.Join(dir, incidentsIn))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e incidents.Entry) bool {
		w := &e.Meta.What
		return e.Err != nil || w.End.Before(from) || w.Start.After(to)
	}), nil
}

// agentRecording makes a recording of a span of the agent's series.
func (a *app) agentRecording(dir string, from, to time.Time) (data []byte, err error) {
	r, err := series.OpenReader(dir)
	if errors.Is(err, series.ErrNoRecording) {
		return nil, fmt.Errorf("%w; 'iocause agent' makes one, --dir says where it is; or give --recording", err)
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var oldest time.Time
	step := max(to.Sub(from)/(storeWindows*storeTicks), time.Second).Truncate(time.Second)
	for tier := series.Tiers - 1; tier >= 0; tier-- { // what is asked of the time before there was anything is answered from then on
		if first := r.Oldest(tier); !first.IsZero() && (oldest.IsZero() || first.Before(oldest)) {
			oldest = first
		}
	}
	if oldest.After(from) {
		from = oldest
	}
	if raw := r.Oldest(0); raw.IsZero() || from.Before(raw) {
		step = max(step, 5*time.Minute)
	}
	from, to = from.Add(step).Truncate(step), to.Truncate(step)
	if !from.Before(to) {
		return nil, fmt.Errorf("playing the recording in %s: nothing was recorded from %s to %s", text.Escape(dir), stamp(from), stamp(to))
	}
	result, err := r.Query(context.Background(), series.Query{Expr: `{__name__=~"iocause_.+"}`, From: from, To: to, Step: step})
	if err != nil {
		return nil, err
	}
	for _, w := range result.Warnings {
		fmt.Fprintln(a.stderr, "iocause: "+text.Escape(w))
	}
	s := &storeSpan{from: from, to: to, step: step, put: map[int64][]storeValue{}, has: map[sample.Metric]bool{}}
	s.take(result.Lines)
	if len(s.put) == 0 {
		return nil, fmt.Errorf("playing the recording in %s: nothing was recorded from %s to %s", text.Escape(dir), stamp(from), stamp(to))
	}
	return s.recording()
}

// storeSpan is a span of series on its way to windows.
type storeSpan struct {
	from, to time.Time
	step     time.Duration
	put      map[int64][]storeValue // by the number of the step
	has      map[sample.Metric]bool
}

type storeValue struct {
	metric sample.Metric
	entity sample.Entity
	value  float64
}

// take sorts the values by time. Of a counter the increase counts: one that
// fell began anew, with the agent.
func (s *storeSpan) take(lines []series.Line) {
	infos := map[string]sample.Info{}
	for _, i := range sample.Catalog() {
		infos[agent.SeriesName(i)] = i
	}
	for _, l := range lines {
		info, ok := infos[l.Name]
		if !ok { // the agent's own figures
			continue
		}
		var e sample.Entity
		for _, label := range l.Labels {
			switch label.Name {
			case "device":
				e.Device = label.Value
			case "class":
				e.Class = label.Value
			case "cgroup":
				e.Cgroup = label.Value
			}
		}
		for i, p := range l.Points {
			v := p.Value
			if info.Kind == sample.Counter {
				if i == 0 || p.At.Sub(l.Points[i-1].At) > s.step {
					continue // nothing is known of the time before
				}
				if v -= l.Points[i-1].Value; v < 0 {
					v = p.Value
				}
			}
			if at := int64(p.At.Sub(s.from) / s.step); at >= 1 { // what was before the first is not known
				s.has[info.Metric] = true
				s.put[at] = append(s.put[at], storeValue{info.Metric, e, v})
			}
		}
	}
}

// recording is the span as 'iocause record' would have it.
func (s *storeSpan) recording() ([]byte, error) {
	gap := sample.Gap{Source: "agent", Why: "the agent records the figures of the host and its devices all the time, and tables of the busiest processes and cgroups ('iocause top'); what processes do beyond that, files and single I/Os with incidents alone"}
	for _, i := range sample.Catalog() {
		if !s.has[i.Metric] {
			gap.Metrics = append(gap.Metrics, i.Metric)
		}
	}
	length := s.step * storeTicks
	var out bytes.Buffer
	to, err := recording.NewWriter(&out, recording.Header{Program: "iocause " + buildVersion().String(), Began: s.from, Interval: length.Seconds(),
		Sources: []recording.Source{{Name: "agent"}}})
	if err != nil {
		return nil, err
	}
	windows := uint64(0)
	for start := s.from; start.Before(s.to); start = start.Add(length) {
		end := start.Add(length)
		if end.After(s.to) {
			end = s.to
		}
		w := sample.NewRecorder(start)
		w.PutGap(gap)
		some := false
		for at := start.Add(s.step); !at.After(end); at = at.Add(s.step) {
			w.At(at)
			for _, v := range s.put[int64(at.Sub(s.from)/s.step)] {
				w.Put(v.metric, v.entity, v.value, storeSource)
				some = true
			}
		}
		if !some { // the agent did not run
			continue
		}
		if err := to.Window(&recording.Record{Window: w.Window(end)}); err != nil {
			return nil, err
		}
		windows++
	}
	if err := to.End(recording.End{Windows: windows}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// evidenceBetween is the evidence of the newest incident of a span that has
// some.
func (a *app) evidenceBetween(p *playback, section string) ([]byte, error) {
	from, to, err := a.agentSpan(p)
	if err != nil {
		return nil, err
	}
	var numbers []string
	found, err := a.incidentsBetween(p.dir, from, to)
	if err != nil {
		return nil, fmt.Errorf("playing %s to %s: %w", stamp(from), stamp(to), err)
	}
	for _, e := range found {
		numbers = append(numbers, fmt.Sprint(e.Number))
		x, err := a.incidentIn(e.Path)
		if err != nil || x == nil {
			continue
		}
		if data, err := sectionOf(x, e.Path, section); err == nil {
			fmt.Fprintf(a.stderr, "iocause: this is the evidence of incident %d, that began at %s\n", e.Number, stamp(e.Meta.What.Start))
			return data, nil
		}
	}
	if len(numbers) > 0 {
		return nil, fmt.Errorf("playing %s to %s: the incidents of that time (%s) hold no %s evidence: 'iocause incident' says why", stamp(from), stamp(to), strings.Join(numbers, ", "), section)
	}
	return nil, fmt.Errorf("playing %s to %s: there was no incident, and the agent keeps no %s evidence otherwise", stamp(from), stamp(to), section)
}
