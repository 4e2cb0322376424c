package cli

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
	"iocause/internal/store/series"
	"iocause/internal/table"
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
			table.Duration(one.end.Sub(one.begin).Seconds()), stamp(one.begin))
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
	const written = 2 * time.Minute // after which that of an open one is written again
	return slices.DeleteFunc(all, func(e incidents.Entry) bool {
		if e.Err != nil {
			fmt.Fprintf(a.stderr, "iocause: whether incident %d is of that time cannot be told: %s\n", e.Number, text.Escape(e.Err.Error()))
			return true
		}
		w := &e.Meta.What
		end := w.End
		if e.Meta.Open {
			end = end.Add(written)
		}
		return end.Before(from) || w.Start.After(to)
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
	span, err := a.storeSpan(r, dir, from, to)
	if err != nil {
		return nil, err
	}
	return span.recording()
}

// storeSpan reads what a recording has of a span.
func (a *app) storeSpan(r *series.Reader, dir string, from, to time.Time) (*storeSpan, error) {
	asked := [2]time.Time{from, to}
	nothing := fmt.Errorf("playing the recording in %s: nothing was recorded from %s to %s", text.Escape(dir), stamp(from), stamp(to))
	var oldest [series.Tiers]time.Time // of this tier or a coarser one
	for tier := series.Tiers - 1; tier >= 0; tier-- {
		oldest[tier] = r.Oldest(tier)
		if tier+1 < series.Tiers && !oldest[tier+1].IsZero() && (oldest[tier].IsZero() || oldest[tier+1].Before(oldest[tier])) {
			oldest[tier] = oldest[tier+1]
		}
	}
	if oldest[0].After(from) { // what is asked of the time before there was anything is answered from then on
		from = oldest[0]
	}
	step := max(to.Sub(from)/(storeWindows*storeTicks), time.Second).Truncate(time.Second)
	for tier, least := range []time.Duration{5 * time.Minute, time.Hour} { // the tiers that have the time
		if first := r.Oldest(tier); !first.IsZero() && !from.Before(first) {
			break
		}
		step = max(step, least)
	}
	if !from.Before(to) {
		return nil, nothing
	}
	from, to = from.Truncate(step), to.Add(step-1).Truncate(step)
	if step > time.Second && (from.Before(asked[0]) || to.After(asked[1])) {
		fmt.Fprintf(a.stderr, "iocause: played from %s to %s: what is kept of that time is in steps of %s\n", stamp(from), stamp(to), table.Duration(step.Seconds()))
	}
	s := newStoreSpan(from, to, step)
	warnings, err := r.Samples(context.Background(), from, to, step, s.take)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, "iocause: "+text.Escape(w))
	}
	known, missing := s.known()
	if !known {
		return nil, nothing
	}
	if missing > step {
		fmt.Fprintf(a.stderr, "iocause: of that time %s were not recorded\n", table.Duration(missing.Seconds()))
	}
	return s, nil
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
		if err != nil {
			fmt.Fprintf(a.stderr, "iocause: %s\n", text.Escape(err.Error()))
		}
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
