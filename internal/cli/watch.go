package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/source/probe/pagecache"
	"iocause/internal/table"
	"iocause/internal/view"
)

// watchOptions are the flags of an observation command.
type watchOptions struct {
	intervals
	filter filter
	file   string
	by     string
	slow   time.Duration
	playback
}

func newToolCommand(e *env, t *view.Tool) *cobra.Command {
	o := &watchOptions{}
	c := &cobra.Command{
		Use: t.Name + " " + intervalUsage, Short: t.What,
		RunE: func(c *cobra.Command, args []string) error { return runTool(e, c, t, o, args) },
	}
	f := c.Flags()
	if len(t.By) > 0 {
		f.Var(ask.OneOf(&o.by, t.By[0], t.By...), "by", strings.Join(append([]string{t.By[0] + " (default)"}, t.By[1:]...), ", "))
		f.Lookup("by").DefValue = "" // said already, in fewer columns
	}
	if t.Slow {
		f.Var(ask.TimeIn(&o.slow, pagecache.Slow), "slow", "count accesses that waited this long or longer")
	}
	o.filter.bind(c)
	bindFile(c, &o.file)
	o.intervals.bind(c, "")
	o.playback.bind(c)
	hideRefused(c, t.Refuses)
	return c
}

// runTool observes interval after interval and shows the view of each.
func runTool(e *env, c *cobra.Command, t *view.Tool, o *watchOptions, args []string) error {
	if err := o.args(args); err != nil {
		return err
	}
	if t.ByFile && c.Flags().Changed("file") && !c.Flags().Changed("by") {
		o.by = "file"
	}
	if err := refused(c, t.Refuses, o.by); err != nil {
		return err
	}
	play, err := o.playback.asked(c)
	if err != nil {
		return err
	}
	target, err := o.filter.target(e.host, play, o.filter.given(c))
	if err != nil {
		return err
	}
	file, err := wantedFile(c, o.file)
	if err != nil {
		return err
	}
	q := &view.Query{PIDs: target.PIDs, Comm: target.Comm, Cgroup: target.Cgroup, Device: target.Device, File: file, By: o.by}
	if play {
		return playTool(e, c, t, o, q, target, args)
	}
	if q.Also, err = filters.OtherNames(e.host, file); err != nil {
		return err
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	open, cancel := context.WithTimeout(watch, openLimit())
	defer cancel()
	names := t.Sources
	if t.ByFile && o.by == "file" {
		names = append(slices.Clone(names), "pagecache")
	}
	sources := source.Named(e.sources, names)
	for i := range sources {
		if sources[i].Name == "pagecache" && t.Slow {
			sources[i].Open = pagecache.OpenSlow(o.slow)
		}
	}
	collector := source.Open(open, e.host, sources)
	defer collector.Close()
	if watch.Err() != nil {
		return session.TooEarly(watch)
	}
	if t.ProbesBy == "" || o.by == t.ProbesBy {
		if err := source.NoneOf(collector.Statuses(), t.Probes); err != nil {
			return fmt.Errorf("nothing can be watched: %w", err)
		}
	}
	noteRefusals(e.stderr, collector.Statuses())
	absent, watched := filters.NotThere(e.host, target, file), 0.0
	absent.Warn(e.stderr)
	var total sample.Total
	collector.Begin()
	shown := console.Observed{
		Tick: min(o.every, time.Second), During: collector.Tick,
		Next: func(i *session.Interval) ([]table.Table, error) {
			w := collector.Next(i.Last)
			i.Start, i.Length = w.Start, w.Length
			watched += w.Seconds()
			absent.See(w)
			if o.format == "text" { // else it would grow with every process, for nobody to see
				total.Add(w)
			}
			return t.View(w, q), nil
		},
		Sum: func(time.Duration) ([]table.Table, error) { return t.View(total.Window(), q), nil },
	}
	return errors.Join(shown.Show(watch, newPrinter(e.streams, &o.intervals), o.every, o.count), absent.Err(watched))
}

// playTool shows the views of a recording: of all of it, or of the part that
// is asked for, or interval by interval.
func playTool(e *env, c *cobra.Command, t *view.Tool, o *watchOptions, q *view.Query, target diagnose.Target, args []string) (err error) {
	if t.Slow && c.Flags().Changed("slow") && o.slow != pagecache.Slow {
		return &ask.Error{Err: fmt.Errorf("reading --slow: a recording counts accesses that waited %v or longer", pagecache.Slow), Next: "leave it out"}
	}
	ofProbes := t.Name != "use" && t.Name != "disk"
	if t.Name == "cache" && len(o.filter.given(c)) == 0 && !c.Flags().Changed("by") && !c.Flags().Changed("file") && o.playback.file == "" && newOpener(e, o.playback.dir).Has(o.playback.interval(), sample.CacheSampledTime) {
		ofProbes = false // an estimate of the host
	}
	from, err := openPlayback(e, &o.playback, ofProbes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	out := newPrinter(e.streams, &o.intervals)
	s := replay.Intervals{Missing: target.Missing, OfDevice: target.Device != "", Show: func(w *sample.Window) error {
		return out.Print(w.Start, w.Length, "", t.View(w, q))
	}}
	if len(args) > 0 {
		s.Every, s.Count = o.every, o.count
	}
	all, err := s.Play(from)
	if err != nil || all == nil || o.format != "text" {
		return err
	}
	return out.Print(all.Start, all.Length, fmt.Sprintf("in all, %s:", table.Duration(all.Seconds())), t.View(all, q))
}
