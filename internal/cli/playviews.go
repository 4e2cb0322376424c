package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/source/probe/pagecache"
	"iocause/internal/store/recording"
	"iocause/internal/table"
	"iocause/internal/view"
)

// playTool shows the views of a recording: of all of it, or of the part that
// is asked for, or interval by interval.
func (a *app) playTool(c *cobra.Command, t *tool, o *watchOptions, q *view.Query, target diagnose.Target, args []string) (err error) {
	if t.slow && c.Flags().Changed("slow") && o.slow != pagecache.Slow {
		return &usageError{fmt.Errorf("reading --slow: a recording counts accesses that waited %v or longer", pagecache.Slow),
			"leave it out"}
	}
	ofProbes := t.name != "use" && t.name != "disk"
	if t.name == "cache" && len(o.filter.given(c)) == 0 && !c.Flags().Changed("by") && !c.Flags().Changed("file") && o.playback.file == "" && a.opener(o.playback.dir).Has(o.playback.span(), sample.CacheSampledTime) {
		ofProbes = false // an estimate of the host
	}
	from, err := a.play(&o.playback, ofProbes)
	if err != nil {
		return err
	}
	defer func() {
		if e := from.Close(); err == nil {
			err = e
		}
	}()
	s := &playedIntervals{from: from, target: target, out: a.newPrinter(&o.intervals), view: func(w *sample.Window) []table.Table { return t.view(w, q) }}
	if len(args) > 0 {
		s.every, s.count = o.every, o.count
	}
	if wanted := from.Header().Interval; s.every > 0 && s.every.Seconds() < wanted*0.99 {
		return &usageError{fmt.Errorf("reading INTERVAL: the windows of this recording are %s long", table.Duration(wanted)), "give that or more"}
	}
	err = from.Each(s.add)
	if err == errEnough {
		return nil
	}
	if err != nil {
		return err
	}
	return s.end()
}

// playedIntervals puts windows together to intervals.
type playedIntervals struct {
	from   *replay.Playback
	target diagnose.Target
	unmet  string // what is asked for and was not met so far
	out    *printer
	view   func(*sample.Window) []table.Table
	every  time.Duration // 0: one interval of all
	count  int           // 0: to the end
	now    *replay.Join
	total  sample.Total
	laps   int
	long   bool // too long to be put together with every point
}

func (s *playedIntervals) add(r *recording.Record) error {
	if s.total.Window() == nil || s.unmet != "" {
		s.unmet = s.target.Unmet(r.Window)
	}
	s.total.Add(r.Window)
	if s.long {
		return nil
	}
	if s.now == nil {
		s.now = &replay.Join{}
	}
	if err := s.now.Add(r); err != nil {
		if s.every > 0 {
			return err
		}
		s.now, s.long = nil, true // the sums will do
		return nil
	}
	// A window is never cut, so an interval may end a little early or late: it
	// ends where the next window would take it further from what was asked for.
	w := s.now.Window()
	if s.every == 0 || w.Length+r.Window.Length/2 <= s.every {
		return nil
	}
	return s.print()
}

func (s *playedIntervals) print() error {
	w := s.now.Window()
	s.now = nil
	s.laps++
	if err := s.out.print(w.Start, w.Length, "", s.view(w)); err != nil {
		return err
	}
	if s.laps == s.count {
		return errEnough
	}
	return nil
}

// end prints what is left and, as after Ctrl-C, all together.
func (s *playedIntervals) end() error {
	if s.unmet != "" {
		return s.from.Nobody(s.unmet, s.target.Device != "")
	}
	if s.long {
		w := s.total.Window()
		fmt.Fprintf(s.out.app.stderr, "iocause: the %s are summed up: of gauges the newest value stands for all\n", table.Duration(w.Seconds()))
		return s.out.print(w.Start, w.Length, "", s.view(w))
	}
	if s.now != nil {
		if err := s.print(); err != nil {
			if err == errEnough {
				return nil
			}
			return err
		}
	}
	if s.laps > 1 && s.count == 0 && s.out.o.format == "text" {
		w := s.total.Window()
		return s.out.print(w.Start, w.Length, fmt.Sprintf("in all, %s:", table.Duration(w.Seconds())), s.view(w))
	}
	return nil
}
