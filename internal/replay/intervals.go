package replay

import (
	"errors"
	"fmt"
	"time"

	"iocause/internal/ask"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
	"iocause/internal/table"
)

// Intervals puts the windows of a recording together, as a command shows them.
type Intervals struct {
	Every    time.Duration                 // 0: one interval of all
	Count    int                           // 0: to the end
	Show     func(*sample.Window) error    // shows an interval
	Missing  func(w *sample.Window) string // who is asked for and is not in a window; "" when all are
	OfDevice bool                          // it is a device that is asked for
	now      *Join
	total    sample.Total
	missing  string // of all windows so far
	shown    int
	long     bool // too long to be put together with every point
}

// errEnough ends reading before the end of a recording.
var errEnough = errors.New("enough was read")

// Play shows the intervals of a recording. all is the sum of several that went
// on to its end, nil where there is none.
func (s *Intervals) Play(p *Playback) (all *sample.Window, err error) {
	if wanted := p.Header().Interval; s.Every > 0 && s.Every.Seconds() < wanted*0.99 {
		return nil, &ask.Error{Err: fmt.Errorf("reading INTERVAL: the windows of this recording are %s long", table.Duration(wanted)), Next: "give that or more"}
	}
	err = p.Each(s.add)
	if err == nil {
		err = s.end(p)
	}
	if err == errEnough {
		return nil, nil
	}
	if err != nil || s.long || s.shown < 2 || s.Count > 0 {
		return nil, err
	}
	return s.total.Window(), nil
}

func (s *Intervals) add(r *recording.Record) error {
	if s.total.Window() == nil || s.missing != "" {
		s.missing = s.Missing(r.Window)
	}
	s.total.Add(r.Window)
	if s.long {
		return nil
	}
	if s.now == nil {
		s.now = &Join{}
	}
	if err := s.now.Add(r); err != nil {
		if s.Every > 0 {
			return err
		}
		s.now, s.long = nil, true // the sums will do
		return nil
	}
	// A window is never cut, so an interval may end a little early or late: it
	// ends where the next window would take it further from what was asked for.
	w := s.now.Window()
	if s.Every == 0 || w.Length+r.Window.Length/2 <= s.Every {
		return nil
	}
	return s.show()
}

func (s *Intervals) show() error {
	w := s.now.Window()
	s.now = nil
	s.shown++
	if err := s.Show(w); err != nil {
		return err
	}
	if s.shown == s.Count {
		return errEnough
	}
	return nil
}

// end shows what is left.
func (s *Intervals) end(p *Playback) error {
	switch {
	case s.missing != "":
		return p.Nobody(s.missing, s.OfDevice)
	case s.long:
		w := s.total.Window()
		p.note("the %s are summed up; gauges have their newest value", table.Duration(w.Seconds()))
		return s.Show(w)
	case s.now != nil:
		return s.show()
	}
	return nil
}
