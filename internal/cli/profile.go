package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/filters"
	"iocause/internal/output"
	"iocause/internal/present/perfetto"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/table"
	"iocause/internal/tool/profile"
	"iocause/internal/version"
)

// profileOptions are the flags that offcpu and oncpu share.
type profileOptions struct {
	duration time.Duration
	filter   filter
	show     intervals // --top, --sort and --format
	output   string
	playback playback
	absent   *filters.Absent // whom nobody was of at the start
}

func (o *profileOptions) bind(c *cobra.Command, verb string) {
	f := c.Flags()
	f.Var(ask.TimeIn(&o.duration, 10*time.Second).From(shortest, goodLength), "duration", "how long to watch")
	f.IntVar(&o.filter.PID, "pid", 0, "where does this process "+verb+"?")
	f.StringVar(&o.filter.Comm, "comm", "", "where do processes and threads of this name "+verb+"?")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "where do the processes below this cgroup "+verb+"?")
}

// bindOutput adds the flags of what is written; more are formats that one has alone.
func (o *profileOptions) bindOutput(c *cobra.Command, more ...string) {
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write all to a .html or .svg (flame graph), .pb.gz (pprof) or .folded file; - for stdout")
	f.Var(ask.RowsIn(&o.show.top, 20), "top", "rows of the table, 0 for all")
	f.StringVar(&o.show.sort, "sort", "time_s", "column to sort by")
	help := "of the table: text, json or csv"
	if len(more) > 0 {
		help += "; or of all: " + ask.Or(more)
	}
	f.Var(ask.Formats(&o.show.format, append([]string{"json", "csv"}, more...)...), "format", help)
}

// check finds out whether the options make sense, and what they ask of the probe.
func (o *profileOptions) check(e *env, c *cobra.Command) (stacks.Options, error) {
	var ask stacks.Options
	if err := o.checkOutput(); err != nil {
		return ask, err
	}
	given, err := o.filter.one(c)
	if err != nil {
		return ask, err
	}
	target, err := o.filter.Target(e.host, given)
	if err != nil {
		return ask, err
	}
	ask.PID, ask.Comm = filters.OnePID(&target), target.Comm
	if target.Cgroup != "" {
		ask.Tree, ask.Cgroup, err = e.host.CgroupInode(target.Cgroup, "memory", "io", "blkio", "")
		if err == nil && ask.Cgroup == 0 {
			err = fmt.Errorf("looking for cgroup %q: it does not exist; see 'systemd-cgls'", target.Cgroup)
		}
		if ask.Tree == "blkio" {
			ask.Tree = "io" // as version 2 has it
		}
	}
	if o.absent = filters.NotThere(e.host, target, ""); err == nil {
		o.absent.Warn(e.stderr)
	}
	return ask, err
}

// checkOutput refuses two forms at once, and files whose form cannot be told.
func (o *profileOptions) checkOutput() error {
	if o.output != "" && o.show.format == "perfetto" {
		return &ask.Error{Err: errors.New("reading the flags: --format perfetto goes to standard output, --output names another form"), Next: "leave one of them out"}
	}
	return output.CheckProfile(o.output)
}

// observeProfile is what offcpu and oncpu do after they have read their flags.
func observeProfile(e *env, c *cobra.Command, o *profileOptions, ask stacks.Options, title string, keep map[string]bool) error {
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	var line *session.Line
	p, err := profile.Observe(watch, e.host, profile.Options{Options: ask, Length: o.duration, Show: func(elapsed time.Duration) {
		if line == nil {
			line = console.NewProgress(e.stderr, o.duration, nil)
			return
		}
		line.Draw(func() string { return console.Observing(source.Progress{Elapsed: elapsed, Length: o.duration}) })
	}})
	if line != nil {
		line.Erase()
	}
	if err != nil {
		return err
	}
	o.absent.Found(len(p.Stacks) > 0)
	if err := o.absent.Err(p.Length.Seconds()); err != nil {
		return err
	}
	p.Title = title
	if note := p.Only(keep); note != "" {
		p.Notes = append([]string{note}, p.Notes...)
	}
	return showProfile(e.streams, &p.Profile, o)
}

// playStacks shows the stacks of an incident that are of these states.
func playStacks(s streams, c *cobra.Command, o *profileOptions, section, title string, data []byte, keep map[string]bool) error {
	if err := onlyLive(c, nil, "the stacks of an incident are fixed", "duration", "min", "wakers", "hz", "cgroup"); err != nil {
		return err
	}
	if err := o.checkOutput(); err != nil {
		return err
	}
	was, target, err := evidenceOf[profile.Profile](c, &o.filter, section, data)
	if err != nil {
		return err
	}
	was.Title = title
	if err := was.Replay(&profile.Filter{PID: filters.OnePID(&target), Comm: target.Comm}, keep); err != nil {
		return fmt.Errorf("replaying %s: %w", text.Escape(o.playback.file), err)
	}
	return showProfile(s, &was.Profile, o)
}

// showProfile writes a profile to the file that is asked for, or prints it.
func showProfile(s streams, p *sample.Profile, o *profileOptions) error {
	if o.output != "" {
		return output.Profile(s.stdout, s.stderr, p, o.output)
	}
	if o.show.format == "perfetto" {
		for _, note := range p.Notes {
			fmt.Fprintln(s.stderr, "iocause: "+text.Escape(note))
		}
		return perfetto.Stacks(s.stdout, version.Program(), p)
	}
	printer := newPrinter(s, &o.show)
	width := 0
	if o.show.format == "text" {
		width = cmp.Or(printer.Style.Width, 80)
	}
	label := fmt.Sprintf("%s: %s of all threads together, watched for %s", p.Title, table.Duration(p.Total().Seconds()), table.Duration(p.Length.Seconds()))
	return printer.Print(p.Begin, p.Length, label, []table.Table{profile.Table(p, width)})
}
