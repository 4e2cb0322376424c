package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/source/probe/pagecache"
	"iocause/internal/table"
	"iocause/internal/view"
)

// tool is an observation command that shows a view of every interval.
type tool struct {
	name, short string
	sources     []string // of source.List
	by          []string // rows to choose from, the first by default; nil for no choice
	sort        string   // column, "" as the view has it
	slow        bool     // takes --slow
	probes      []string // of the sources: when none of them opens, rows have nothing to say
	probesBy    string   // ... of rows by this; "" for all
	refuses     []noAnswer
	byFile      bool // rows are by file when --file is given and --by is not; names are the page cache's
	view        func(*sample.Window, *view.Query) []table.Table
}

// watchOptions are the flags of an observation command.
type watchOptions struct {
	intervals
	filter filter
	file   string
	by     string
	slow   time.Duration
	playback
}

func newToolCommand(e *env, t *tool) *cobra.Command {
	o := &watchOptions{}
	c := &cobra.Command{
		Use: t.name + " " + intervalUsage, Short: t.short,
		RunE: func(c *cobra.Command, args []string) error { return runTool(e, c, t, o, args) },
	}
	f := c.Flags()
	if len(t.by) > 0 {
		f.Var(ask.OneOf(&o.by, t.by[0], t.by...), "by", strings.Join(append([]string{t.by[0] + " (default)"}, t.by[1:]...), ", "))
		f.Lookup("by").DefValue = "" // said already, in fewer columns
	}
	if t.slow {
		f.Var(ask.TimeIn(&o.slow, pagecache.Slow), "slow", "count accesses that waited so long")
	}
	o.filter.bind(c)
	bindFile(c, &o.file)
	o.intervals.bind(c, t.sort)
	o.playback.bind(c)
	return c
}

// runTool observes interval after interval and shows the view of each.
func runTool(e *env, c *cobra.Command, t *tool, o *watchOptions, args []string) error {
	if err := o.args(args); err != nil {
		return err
	}
	if t.byFile && c.Flags().Changed("file") && !c.Flags().Changed("by") {
		o.by = "file"
	}
	if err := refused(c, t.refuses, o.by); err != nil {
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
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	open, cancel := context.WithTimeout(watch, openLimit())
	defer cancel()
	names := t.sources
	if t.byFile && o.by == "file" {
		names = append(slices.Clone(names), "pagecache")
	}
	sources := chosen(append(slices.Clone(e.sources), source.Others()...), names)
	for i := range sources {
		if sources[i].Name == "pagecache" && t.slow {
			sources[i].Open = pagecache.OpenSlow(o.slow)
		}
	}
	collector := source.Open(open, e.host, sources)
	defer collector.Close()
	if watch.Err() != nil {
		return session.TooEarly(watch)
	}
	if err := t.blind(collector.Statuses(), o.by); err != nil {
		return err
	}
	noteRefusals(e.stderr, collector.Statuses())
	var total sample.Total
	collector.Begin()
	shown := console.Observed{
		Tick: min(o.every, time.Second), During: collector.Tick,
		Next: func(i *session.Interval) ([]table.Table, error) {
			w := collector.Next(i.Last)
			i.Start, i.Length = w.Start, w.Length
			if o.format == "text" { // else it would grow with every process, for nobody to see
				total.Add(w)
			}
			return t.view(w, q), nil
		},
		Sum: func(time.Duration) ([]table.Table, error) { return t.view(total.Window(), q), nil },
	}
	return shown.Show(watch, newPrinter(e.streams, &o.intervals), o.every, o.count)
}

// blind is why nothing of what is asked for can be watched, nil when some can:
// empty tables would say that nothing happened.
func (t *tool) blind(all []source.Status, by string) error {
	if t.probesBy != "" && by != t.probesBy {
		return nil
	}
	var first error
	for _, s := range all {
		if !slices.Contains(t.probes, s.Name) {
			continue
		}
		if s.OpenErr == nil {
			return nil
		}
		if first == nil {
			first = s.OpenErr
		}
	}
	if first != nil {
		return fmt.Errorf("nothing can be watched: %w", first)
	}
	return nil
}

// chosen are the sources of these names, in the order of the list.
func chosen(all []source.Entry, names []string) []source.Entry {
	var some []source.Entry
	for _, e := range all {
		if slices.Contains(names, e.Name) {
			some = append(some, e)
		}
	}
	return some
}
