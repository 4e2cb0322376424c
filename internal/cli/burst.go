package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/filters"
	"iocause/internal/incident"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/table"
	"iocause/internal/tool/burst"
	"iocause/internal/view"
)

// burstOptions are the flags of burst.
type burstOptions struct {
	intervals
	filter   filter
	file     string
	playback playback
}

func newBurstCommand(e *env) *cobra.Command {
	o := &burstOptions{}
	c := &cobra.Command{
		Use:   "burst " + intervalUsage,
		Short: "Find I/O bursts of milliseconds, and who makes them",
		Args:  func(c *cobra.Command, args []string) error { return o.args(args) },
		RunE:  func(c *cobra.Command, _ []string) error { return runBurst(e, c, o) },
	}
	o.bind(c, "bursts")
	o.filter.bind(c)
	bindFile(c, &o.file)
	o.playback.bind(c)
	return c
}

// burstRefuses are filters without an answer: files stay in the kernel.
func burstRefuses() []view.Refusal {
	return []view.Refusal{{Flags: []string{"file"}, Why: "bursts are counted by process and cgroup, not by file",
		Instead: "use 'iocause trace --file', which sees every I/O"}}
}

// burstRun is one run of the command.
type burstRun struct {
	env     *env
	o       *burstOptions
	printer *console.Printer
	lines   *show.Bursts
}

func runBurst(e *env, c *cobra.Command, o *burstOptions) error {
	data, err := readEvidence(e, c, &o.playback, incident.SectionTrace)
	if err != nil {
		return err
	}
	r := &burstRun{env: e, o: o, printer: newPrinter(e.streams, &o.intervals)}
	if err := r.printer.Arrange((&burst.Interval{}).Tables()); err != nil {
		return err
	}
	if err := refused(c, burstRefuses(), ""); err != nil {
		return err
	}
	t, err := o.filter.target(e.host, data != nil, o.filter.given(c))
	if err != nil {
		return err
	}
	disk := playedDisk
	if data == nil {
		disk = e.host.LongestDisk()
	}
	f := burst.Filter{PIDs: t.PIDs, Comm: t.Comm, Cgroup: t.Cgroup, Device: t.Device}
	r.lines = show.NewBursts(e.stdout, o.format, disk, console.Style(e.stdout, os.Getenv, console.WidestTable))
	if data == nil {
		filters.NotThere(e.host, t, "").Warn(e.stderr)
		return r.live(c.Context(), f)
	}
	every := o.every
	if c.Flags().NArg() == 0 {
		every = 0
	}
	return burst.Play(data, f, every, o.count, r.lines.Write, func(in *burst.Interval) error { return r.print(in, "") })
}

// live watches until it is enough.
func (r *burstRun) live(ctx context.Context, f burst.Filter) (err error) {
	e, o := r.env, r.o
	watch, stop := session.UntilInterrupt(ctx, nil)
	defer stop()
	observer, err := burst.Open(e.host, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, observer.Close()) }()
	observer.Found = r.lines.Write
	if o.format != "text" || o.every > 2*time.Second {
		fmt.Fprintf(e.stderr, "iocause: looking for bursts; the first table comes after %s\n", table.Duration(o.every.Seconds()))
	}
	began, n := time.Now(), 0
	loop := session.Loop{Every: o.every, Count: o.count, Tick: burst.Poll, During: observer.Poll}
	err = loop.Run(watch, func(i session.Interval) error {
		n++
		in, err := observer.Next(i.Start, i.Length, i.Last)
		if err != nil {
			return err
		}
		return r.print(in, "")
	})
	if err != nil || n == 1 || o.format == "csv" {
		return err
	}
	length := time.Since(began)
	return r.print(observer.Sum(began, length), "All "+table.Duration(length.Seconds()))
}

// print prints the tables of an interval.
func (r *burstRun) print(in *burst.Interval, label string) error {
	tables := in.Tables()
	below, note := r.lines.Tables()
	if note != "" {
		tables[0].Notes = append(tables[0].Notes, note)
	}
	r.printer.Before = r.printer.Before || below
	return r.printer.Print(in.Start, in.Length, label, tables)
}
