package perfetto

import (
	"io"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
)

// Course writes what a report draws over time: a counter for each line of its charts,
// grouped as they are, and in a lane of their own the finding, what was marked, and
// the time that nobody observed: a counter cannot have a gap.
func Course(to io.Writer, page *picture.Page) error {
	var began time.Time
	for _, s := range page.Sets {
		if began.IsZero() || s.Start.Before(began) {
			began = s.Start
		}
	}
	w, err := New(to, page.Program, began)
	if err != nil {
		return err
	}
	groups := map[string]int{}
	for _, s := range page.Sets {
		if err := w.set(s, page.Report, s.Start.Sub(began), groups); err != nil {
			return err
		}
	}
	return w.Close()
}

func (w *Writer) set(s *picture.Set, r *diagnose.Report, offset time.Duration, groups map[string]int) error {
	at := func(seconds float64) time.Duration { return offset + time.Duration(seconds*float64(time.Second)) }
	if err := w.marks(s, r, at, groups); err != nil {
		return err
	}
	for _, c := range s.Charts {
		pid := groupOf(groups, c.Group)
		for i := range s.Begin {
			var figures []Figure
			for _, l := range c.Lines {
				if i < len(l.Values) {
					figures = append(figures, Figure{l.Name, l.Values[i]})
				}
			}
			if err := w.Count(pid, plain(c.Group), c.Title+", "+c.Unit, at(s.Begin[i]), figures); err != nil {
				return err
			}
		}
	}
	return nil
}

// marks are the finding over its time, the marks of the set, and its gaps.
func (w *Writer) marks(s *picture.Set, r *diagnose.Report, at func(float64) time.Duration, groups map[string]int) error {
	n := len(s.End)
	if n == 0 {
		return nil
	}
	pid := groupOf(groups, plain(s.Title))
	if err := w.name(pid, plain(s.Title)); err != nil {
		return err
	}
	lane, err := w.thread(pid, "finding and marks")
	if err != nil {
		return err
	}
	slice := func(name string, from, to float64, lane int) error {
		return w.event(&event{Name: plain(name), Phase: "X", At: micros(at(from)), Length: micros(at(to) - at(from)), PID: pid, TID: lane})
	}
	if r != nil {
		if err := slice(string(r.Primary)+": "+r.Title, s.Begin[0], s.End[n-1], lane); err != nil {
			return err
		}
	}
	for _, m := range s.Marks {
		if err := slice(m.Name, m.From, m.To, lane); err != nil {
			return err
		}
	}
	gaps := 0
	for i := 1; i < n; i++ {
		if s.Begin[i]-s.End[i-1] < 0.001 { // columns are rounded to it
			continue
		}
		if gaps == 0 {
			if gaps, err = w.thread(pid, "not observed"); err != nil {
				return err
			}
		}
		if err := slice("not observed: counters keep their last value", s.End[i-1], s.Begin[i], gaps); err != nil {
			return err
		}
	}
	return nil
}

// groupOf is the number that a group of counters has in place of a process.
func groupOf(groups map[string]int, name string) int {
	if groups[name] == 0 {
		groups[name] = len(groups) + 1
	}
	return groups[name]
}
