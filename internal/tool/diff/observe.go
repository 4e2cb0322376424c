package diff

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/judge"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
	"iocause/internal/view"
)

// side is one side of a comparison.
type side struct {
	name    string
	open    func() (*replay.Playback, error) // of the interval that was chosen
	header  recording.Header
	found   *judge.Recorded
	whole   []view.Figure        // of the interval
	values  map[string][]float64 // of its windows, by the figure's key
	windows int
	// ofCommand tells that without a filter the command is asked for, not the machine.
	ofCommand bool
}

// Ask is what is compared: two files, of which each may be the folder of an
// agent, or one file twice.
type Ask struct {
	Files  [2]string
	Spans  [2]replay.Interval
	Target diagnose.Target // none: the commands where both sides have one, else the machines
}

// times tells whether times are chosen.
func (q *Ask) times() bool {
	return q.Spans[0].From+q.Spans[0].To+q.Spans[1].From+q.Spans[1].To != ""
}

// Recordings compares what was recorded.
func Recordings(o *replay.Opener, q *Ask) (*Difference, error) {
	sides, err := openSides(o, q)
	if err != nil {
		return nil, err
	}
	// like is compared with like: a command with a command, a machine with a machine
	ofCommands := sides[0].header.Command != nil && sides[1].header.Command != nil
	for i, s := range sides {
		s.ofCommand = ofCommands
		var before *judge.Past
		if i == 1 { // what came first is not judged by what came after it
			before = &judge.Past{Recorded: sides[0].found, Name: sides[0].name, Fingerprint: sides[0].found.Report.Host}
		}
		if err := s.read(q.Target, before); err != nil {
			return nil, err
		}
	}
	return compareSides(sides)
}

// openSides opens both sides. An incident that is compared with itself is
// compared with the better times that it was judged against.
func openSides(o *replay.Opener, q *Ask) (sides [2]*side, err error) {
	for i, name := range q.Files {
		s := &side{name: name, values: map[string][]float64{}}
		info, err := os.Stat(name)
		switch {
		case err == nil && info.IsDir():
			if s.open, err = ofAgent(o, name, &q.Spans[i]); err != nil {
				return sides, err
			}
		case i == 0 && q.Files[0] == q.Files[1] && !q.times():
			if s.open, err = betterTimes(o, name); err != nil {
				return sides, err
			}
			if s.open != nil {
				s.name += " (better times)"
			}
		}
		if s.open == nil {
			s.open = func() (*replay.Playback, error) { return o.File(name, &q.Spans[i]) }
		}
		p, err := s.open()
		if err != nil {
			return sides, err
		}
		s.header = p.Header()
		if err := p.Release(); err != nil {
			return sides, err
		}
		sides[i] = s
	}
	return sides, nil
}

// ofAgent makes a recording of an interval of what an agent recorded, and names the
// incidents of that time.
func ofAgent(o *replay.Opener, dir string, interval *replay.Interval) (func() (*replay.Playback, error), error) {
	of := *o
	of.Dir = dir
	from, to, err := of.Times(interval)
	if err != nil {
		return nil, err
	}
	for _, e := range of.Judged(from, to) {
		o.Note(fmt.Errorf("incident %d (%s, %s) is from that time: 'iocause diff %d' compares it with its baseline",
			e.Number, replay.Stamp(e.Meta.What.Start), e.Meta.Cause, e.Number))
	}
	data, err := of.Recording(from, to)
	if err != nil {
		return nil, err
	}
	return func() (*replay.Playback, error) { return o.Made(data) }, nil
}

// betterTimes opens those that an incident was judged against. It is nil for
// what is no incident.
func betterTimes(o *replay.Opener, name string) (func() (*replay.Playback, error), error) {
	x, err := o.Incident(name)
	if x == nil || err != nil {
		return nil, err
	}
	at := slices.IndexFunc(x.Sections, func(s incidents.Section) bool { return s.Name == replay.SectionNormal })
	if at < 0 {
		return nil, fmt.Errorf("comparing %s: the incident has no baseline; give a second recording or incident", replay.OneLine(name))
	}
	data := x.Sections[at].Data
	return func() (*replay.Playback, error) { return o.Data(name, data, &replay.Interval{}) }, nil
}

// read reads a side twice: to judge it, which also says whose it is, and for
// the figures of its windows.
func (s *side) read(target diagnose.Target, before *judge.Past) error {
	p, err := s.open()
	if err != nil {
		return err
	}
	s.found, err = judge.Recording(p, target, s.ofCommand, before)
	if err = errors.Join(err, p.Close()); err != nil {
		return err
	}
	scope := scopeOf(s.found.Window, s.found.Target)
	s.whole = view.Figures(s.found.Window, scope)
	if p, err = s.open(); err != nil {
		return err
	}
	err = p.Each(func(r *recording.Record) error {
		if r.Window.Length < time.Duration(s.header.Interval*float64(time.Second))/2 {
			return nil // the last, cut short: its rates are those of a moment
		}
		s.windows++
		for _, f := range view.Figures(r.Window, scope) {
			s.values[f.Key] = append(s.values[f.Key], f.Value)
		}
		return nil
	})
	return errors.Join(err, p.Release())
}

// scopeOf are the processes that a target means, nil for the whole machine.
func scopeOf(w *sample.Window, t diagnose.Target) view.Scope {
	if len(t.PIDs) == 0 && t.Comm == "" && t.Cgroup == "" {
		return nil
	}
	scope := view.Scope{}
	for _, pid := range t.PIDs {
		scope[pid] = true
	}
	top := strings.TrimSuffix(t.Cgroup, "/") + "/"
	for pid, p := range w.Processes {
		if t.Comm != "" && p.Comm == t.Comm ||
			t.Cgroup != "" && (strings.HasPrefix(p.MemoryCgroup+"/", top) || strings.HasPrefix(p.IOCgroup+"/", top)) {
			scope[pid] = true
		}
	}
	return scope
}
