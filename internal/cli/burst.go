package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/detect"
	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source/probe/burst"
	"iocause/internal/table"
)

// burstOptions are the flags of burst.
type burstOptions struct {
	intervals
	filter   filter
	file     string
	playback playback
}

func newBurstCommand(a *app) *cobra.Command {
	o := &burstOptions{}
	c := &cobra.Command{
		Use:   "burst " + intervalUsage,
		Short: "Find bursts of I/O of milliseconds, and who made them",
		Long: "Burst counts what arrives at each disk in every millisecond and whose it is, and\n" +
			"prints the bursts as they happen: runs of milliseconds that stand out from the\n" +
			"second around them. Averages of a second hide them, and limits of cloud disks\n" +
			"are enforced within them. The table says how many there were, how far they are\n" +
			"above the average, and how much of all I/O is in them.\n\n" +
			intervalHelp + "\n\n" +
			"A millisecond stands out by 8 robust standard deviations, 10 I/Os or 1 MiB at\n" +
			"the least. Random arrivals at a steady rate are no bursts. With --pid, --comm or\n" +
			"--cgroup only what those ask for is looked at; the latency is still the disk's.\n" +
			"Files are not kept: --file is refused.",
		Example: `  iocause burst
  iocause burst 10
  iocause burst 1 60 --device nvme0n1 -t
  iocause burst 10 --cgroup /system.slice/backup.service
  iocause burst 5 --format json
  iocause burst --recording 17`,
		Args: func(c *cobra.Command, args []string) error { return o.args(args) },
		RunE: func(c *cobra.Command, _ []string) error { return a.burst(c, o) },
	}
	o.bind(c, "bursts")
	o.filter.bind(c)
	bindFile(c, &o.file)
	o.playback.bind(c)
	return c
}

const (
	burstPoll = 50 * time.Millisecond // from one look into the kernel's bins to the next
	// burstLines is how many bursts of a disk are printed in a second; the rest
	// are in the table.
	burstLines = 10
)

// burstRun is one run of the command.
type burstRun struct {
	app     *app
	o       *burstOptions
	filter  burstFilter
	probe   *burst.Probe
	printer *printer
	lines   *text.Lines
	disks   map[string]*burstDisk
	whole   map[string]*burstSums // since the start
	boot    time.Time             // of Bin.MS 0
	losses  func() (burst.Losses, error)
	before  burst.Losses // of the intervals before
	notes   []string     // for the next tables
	second  int64        // that shown and hidden count in
	shown   int
	hidden  int
	printed bool // tables, below the bursts so far
}

func (a *app) burst(c *cobra.Command, o *burstOptions) error {
	data, err := a.evidence(c, &o.playback, incident.SectionTrace)
	if err != nil {
		return err
	}
	r := &burstRun{app: a, o: o, printer: a.newPrinter(&o.intervals), disks: map[string]*burstDisk{}, whole: map[string]*burstSums{}}
	if err := r.printer.arrange(r.tables(nil, time.Second)); err != nil {
		return err
	}
	if data != nil {
		return r.play(c, data)
	}
	if r.filter, err = a.newBurstFilter(c, &o.filter); err != nil {
		return err
	}
	return r.live(c.Context())
}

// live watches until it is enough.
func (r *burstRun) live(ctx context.Context) (err error) {
	a, o := r.app, r.o
	watch, stop := session.UntilInterrupt(ctx, nil)
	defer stop()
	if r.probe, err = burst.Open(a.host); err != nil {
		return err
	}
	defer func() {
		if e := r.probe.Close(); err == nil {
			err = e
		}
	}()
	began := time.Now()
	r.boot = began.Add(-time.Duration(r.probe.Next()) * time.Millisecond)
	r.losses = r.probe.Losses
	r.begin()
	if o.format != "text" || o.every > 2*time.Second {
		fmt.Fprintf(a.stderr, "iocause: looking for bursts, the first table after %s\n", table.Duration(o.every.Seconds()))
	}
	n := 0
	for start := began; ; start = start.Add(o.every) {
		ended, err := r.interval(watch, start.Add(o.every))
		if err != nil {
			return err
		}
		n++
		last := ended || n == o.count
		if last {
			if err := r.end(); err != nil {
				return err
			}
		}
		length := min(o.every, time.Since(start))
		if err := r.print(start, length, ""); err != nil {
			return err
		}
		if last {
			if n == 1 {
				return nil
			}
			return r.sumUp(began)
		}
	}
}

// begin prepares the lines of bursts.
func (r *burstRun) begin() {
	r.lines = text.NewLines(r.app.stdout, styleOf(r.app.stdout, os.Getenv, widestTable), []text.LineColumn{
		{Head: "TIME", Width: 12}, {Head: "DISK", Width: min(max(r.app.longestDisk(), 4), 12)}, {Head: "LENGTH", Width: 6, Right: true},
		{Head: "I/Os", Width: 6, Right: true}, {Head: "BYTES", Width: 7, Right: true}, {Head: "TOP/ms", Width: 6, Right: true},
		{Head: "LATENCY", Width: 7, Right: true}, {Head: "WHO"}})
}

// interval watches until then, or until the context ends.
func (r *burstRun) interval(ctx context.Context, until time.Time) (ended bool, err error) {
	ticks := time.NewTicker(burstPoll)
	defer ticks.Stop()
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return true, r.poll()
		case <-ticks.C:
			if err := r.poll(); err != nil {
				return false, err
			}
		}
	}
	return false, r.poll()
}

// poll takes what the kernel has counted.
func (r *burstRun) poll() error {
	var failed error
	keep := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	next, err := r.probe.Each(func(b *burst.Bin) {
		if r.filter.keep(b) {
			keep(r.take(b))
		}
	})
	keep(err)
	for name, d := range r.disks {
		d.feed(next, func(found detect.Burst) { keep(r.found(name, d, found)) })
		d.forget()
	}
	return failed
}

// take counts a bin.
func (r *burstRun) take(b *burst.Bin) (err error) {
	d := r.disks[b.Disk]
	if d == nil {
		d = newBurstDisk(b.MS)
		r.disks[b.Disk] = d
	}
	d.add(b, func(found detect.Burst) {
		if e := r.found(b.Disk, d, found); err == nil {
			err = e
		}
	})
	return err
}

// end judges what is left when the watching ends.
func (r *burstRun) end() (err error) {
	for name, d := range r.disks {
		d.finder.End(func(found detect.Burst) {
			if e := r.found(name, d, found); err == nil {
				err = e
			}
		})
	}
	return err
}

// found counts a burst and prints it.
func (r *burstRun) found(disk string, d *burstDisk, b detect.Burst) error {
	e := d.explain(b)
	d.now.burst(&e)
	at := r.boot.Add(time.Duration(b.From) * time.Millisecond)
	switch r.o.format {
	case "csv":
		return nil
	case "json":
		return writeJSONLine(r.app.stdout, map[string]any{"burst": e.object(disk, at)})
	}
	if s := at.Unix(); s != r.second {
		r.second, r.shown = s, 0
	}
	if r.shown++; r.shown > burstLines {
		r.hidden++
		return nil
	}
	if r.printed {
		r.printed = false
		fmt.Fprintln(r.app.stdout)
	}
	latency := "-"
	if e.done > 0 {
		latency = text.Short(e.took.Seconds()/float64(e.done), "seconds")
	}
	return r.lines.Write([]string{at.Format("15:04:05.000"), disk, fmt.Sprintf("%dms", b.To-b.From), text.Short(float64(b.Ops), "count"),
		text.Short(float64(b.Bytes), "bytes"), text.Short(float64(b.Peak.Ops), "count"), latency,
		e.who(max(1, r.lines.Columns[7].Width/24))})
}

// print prints the tables of an interval and begins the next.
func (r *burstRun) print(start time.Time, length time.Duration, label string) error {
	losses, err := r.losses()
	if err != nil {
		return err
	}
	sums := map[string]*burstSums{}
	for name, d := range r.disks {
		sums[name] = d.now
		if r.whole[name] == nil {
			r.whole[name] = &burstSums{owners: map[ioOwner]*ownerSums{}}
		}
		r.whole[name].join(d.now)
		d.now = &burstSums{owners: map[ioOwner]*ownerSums{}}
	}
	tables := r.tables(sums, length)
	r.note(&tables[0], losses)
	r.printer.before = r.printer.before || r.o.format == "text" && r.shown > 0
	r.printed = true
	return r.printer.print(start, length, label, tables)
}

func (r *burstRun) note(t *table.Table, now burst.Losses) {
	before := r.before
	r.before = now
	t.Notes = append(t.Notes, r.notes...)
	r.notes = nil
	if r.hidden > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s beyond %d in a second in the table only", sample.Counted(r.hidden, "burst"), burstLines))
		r.hidden = 0
	}
	if n := now.UnknownDisk - before.UnknownDisk; n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d I/Os went to disks that came after the start: they are missing", n))
	}
	if r.filter.beyond > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d I/Os came after those of eight others in their millisecond: whose they are is not known, and they are left out", r.filter.beyond))
		r.filter.beyond = 0
	}
	if n := now.LateReader - before.LateReader; n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d I/Os are missing: iocause did not get to run for a second", n))
	}
}

// sumUp prints the whole.
func (r *burstRun) sumUp(began time.Time) error {
	length := time.Since(began)
	tables := r.tables(r.whole, length)
	r.before = burst.Losses{}
	losses, err := r.losses()
	if err != nil {
		return err
	}
	r.note(&tables[0], losses)
	if r.o.format == "csv" {
		return nil
	}
	return r.printer.print(began, length, fmt.Sprintf("All %s", table.Duration(length.Seconds())), tables)
}
