package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
	"iocause/internal/view"
)

// diffSide is one side of a comparison.
type diffSide struct {
	name    string
	open    func() (*replay.Playback, error) // of the span that was chosen
	header  recording.Header
	found   *judgement
	whole   []view.Figure        // of the span
	values  map[string][]float64 // of its windows, by the figure's key
	windows int
	// ofCommand tells that without a filter the command is asked for, not the machine.
	ofCommand bool
}

// diffSides opens both sides. An incident that is compared with itself is
// compared with the better times that it was judged against.
func (a *app) diffSides(o *diffOptions, files [2]string) (sides [2]*diffSide, err error) {
	for i, name := range files {
		s := &diffSide{name: name, values: map[string][]float64{}}
		flags := [2][2]string{{"from", "to"}, {"from-b", "to-b"}}[i]
		switch {
		case isDirectory(name):
			data, err := a.diffAgent(name, o.from[i], o.to[i], flags)
			if err != nil {
				return sides, err
			}
			s.open = func() (*replay.Playback, error) { return a.opener(name).Made(data) }
		case i == 0 && files[0] == files[1] && !o.times():
			if s.open, err = a.diffNormal(name); err != nil {
				return sides, err
			}
			if s.open != nil {
				s.name += " (better times)"
			}
		}
		if s.open == nil {
			s.open = func() (*replay.Playback, error) {
				return a.opener(o.dir).File(name, &replay.Span{From: o.from[i], To: o.to[i], FromFlag: flags[0], ToFlag: flags[1]})
			}
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

// diffAgent makes a recording of a span of what an agent recorded, and names the
// incidents of that time.
func (a *app) diffAgent(dir, fromText, toText string, flags [2]string) ([]byte, error) {
	o := a.opener(dir)
	from, to, err := o.Times(&replay.Span{From: fromText, To: toText, FromFlag: flags[0], ToFlag: flags[1]})
	if err != nil {
		return nil, err
	}
	for _, e := range o.Judged(from, to) {
		fmt.Fprintf(a.stderr, "iocause: incident %d (%s, %s) is of that time: 'iocause diff %d' compares it with better times\n",
			e.Number, replay.Stamp(e.Meta.What.Start), text.Escape(e.Meta.Cause), e.Number)
	}
	return o.Recording(from, to)
}

// diffNormal opens the better times that an incident was judged against. It is
// nil for what is no incident.
func (a *app) diffNormal(name string) (func() (*replay.Playback, error), error) {
	x, err := a.opener(stateDir).Incident(name)
	if x == nil || err != nil {
		return nil, err
	}
	at := slices.IndexFunc(x.Sections, func(s incidents.Section) bool { return s.Name == sectionNormal })
	if at < 0 {
		return nil, fmt.Errorf("comparing %s: the incident was judged against no better times; give another to compare it with", text.Escape(name))
	}
	data := x.Sections[at].Data
	return func() (*replay.Playback, error) {
		return a.opener(stateDir).Data(name, data, &replay.Span{})
	}, nil
}

// read reads a side twice: to judge it, which also says whose it is, and for
// the figures of its windows.
func (s *diffSide) read(target diagnose.Target, before *past) error {
	p, err := s.open()
	if err != nil {
		return err
	}
	s.found, err = judgeRecorded(p, target, s.ofCommand, before)
	if err = errors.Join(err, p.Close()); err != nil {
		return err
	}
	scope := scopeOf(s.found.window, s.found.target)
	s.whole = view.Figures(s.found.window, scope)
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
