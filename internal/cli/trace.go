package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source/probe/trace"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
	"iocause/internal/view"
)

// traceOptions are the flags of trace.
type traceOptions struct {
	filter      ioFilter
	view        intervals // every is 0 for one sum at the end
	duration    time.Duration
	ios         uint64 // 0: no limit
	from, to    string
	summaryOnly bool
	buffer      int // MiB
	playback    playback
}

func newTraceCommand(a *app) *cobra.Command {
	o := &traceOptions{}
	c := &cobra.Command{
		Use:   "trace " + intervalUsage,
		Short: "Show every I/O with its times, process, cgroup and file",
		Long: "Trace prints every I/O that the disks complete: when it was asked for, by whom,\n" +
			"how long it queued and how long the device took, its size and file, and sums up\n" +
			"by process, by file, and in bins of 10 ms, which show what averages of a second\n" +
			"hide. It ends after --ios, after --duration, or with Ctrl-C.\n\n" +
			"With INTERVAL (seconds, 500ms, 1m) it sums up every so often, COUNT times or\n" +
			"until it ends, and then in all; intervals of a file are those of its I/Os' ends.\n\n" +
			"OP is what blktrace prints: R, W, D (discard), F (flush) with F before it (flush\n" +
			"first) or behind it (forced to stable storage), A (read ahead), S (synchronous),\n" +
			"M (metadata). What is written back later is the I/O of a kernel thread.\n\n" +
			"With -o it prints the summary only and keeps the I/Os in FILE, which -i reads.\n" +
			"I/Os that the kernel had no room for are counted and said; those of iocause\n" +
			"itself, and for the files that it writes to, are left out.",
		Example: `  iocause trace
  iocause trace --ios 100 --device nvme0n1
  iocause trace 1 10 --summary --comm postgres -t
  iocause trace --min 10ms --duration 1m
  iocause trace -o /var/tmp/slow.trace --cgroup /system.slice/postgresql.service
  iocause trace -i /var/tmp/slow.trace --summary
  iocause trace -i /var/tmp/slow.trace --format csv --comm postgres
  iocause trace --recording 17 --summary`,
		Args: func(c *cobra.Command, args []string) error { return o.args(args) },
		RunE: func(c *cobra.Command, args []string) error { return a.trace(c, o) },
	}
	f := c.Flags()
	f.StringVarP(&o.to, "output", "o", "", "keep the I/Os in this file; - is stdout")
	f.StringVarP(&o.from, "input", "i", "", "read the I/Os from such a file; - is stdin")
	f.Var(timeIn(&o.duration, 0), "duration", "how long to trace; 0 until Ctrl-C")
	f.Uint64Var(&o.ios, "ios", 0, "end after so many I/Os; 0 for no limit")
	o.filter.bind(c)
	f.BoolVar(&o.summaryOnly, "summary", false, "print the summary only")
	f.IntVar(&o.view.top, "top", 10, "rows of each table, 0 for all")
	f.StringVar(&o.view.sort, "sort", "ios", "column to sort by, as JSON names it")
	f.StringVar(&o.view.format, "format", "text", "text, json (lines) or csv (I/Os)")
	f.BoolVarP(&o.view.stamp, "timestamps", "t", false, "print the time of every summary")
	f.IntVar(&o.buffer, "buffer", 16, "MiB of room in the kernel")
	o.playback.bind(c)
	f.SortFlags = false
	return c
}

func (o *traceOptions) args(args []string) error {
	if err := o.view.args(args); err != nil {
		return err
	}
	if len(args) == 0 {
		o.view.every = 0
	}
	switch {
	case o.duration < 0:
		return &usageError{fmt.Errorf("reading --duration: %v is no time to trace for", o.duration), "give a time such as 30s"}
	case o.filter.min < 0:
		return &usageError{fmt.Errorf("reading --min: %v is no latency", o.filter.min), "give a time such as 10ms"}
	case o.from != "" && o.to != "":
		return &usageError{errors.New("reading the flags: --input and --output exclude each other"), "give one of them"}
	case o.to == "-" && o.view.every > 0:
		return &usageError{errors.New("reading the arguments: with --output - no summary is printed"), "leave out INTERVAL, or give a file"}
	case o.from != "" && o.duration != 0:
		return &usageError{errors.New("reading the flags: --input and --duration exclude each other"), "leave out --duration"}
	case o.buffer < 1 || o.buffer > 1024 || o.buffer&(o.buffer-1) != 0:
		return &usageError{fmt.Errorf("reading --buffer: %d MiB is no power of two from 1 to 1024", o.buffer), "give 16, 64 or 256"}
	}
	return nil
}

// traceRun is one trace on its way from the kernel, or a file, to the output.
type traceRun struct {
	app    *app
	o      *traceOptions
	began  time.Time
	tally  *ioTally
	show   func(*sample.IO) error // nil for the summary only
	file   *tracefile.Writer      // nil without -o
	losses tracefile.Losses
	notes  []string

	taken     uint64          // I/Os
	last      time.Duration   // when the last ended
	intervals *traceIntervals // nil for one sum at the end
	ended     bool            // after as many intervals as were asked for
	printer   *printer
	printed   bool // a summary, below the I/Os so far
	progress  *session.Line
}

func (a *app) trace(c *cobra.Command, o *traceOptions) error {
	data, err := a.evidence(c, &o.playback, incident.SectionTrace)
	if err != nil {
		return err
	}
	// a wrong column is said before an hour of tracing, not after
	if err := a.newPrinter(&o.view).arrange(newTally().tables(0)); err != nil {
		return err
	}
	r := &traceRun{app: a, o: o, tally: newTally(), printer: a.newPrinter(&o.view)}
	if o.view.every > 0 {
		r.intervals = &traceIntervals{every: o.view.every, whole: newTally()}
	}
	if o.filter.file, err = wantedFile(c, o.filter.file); err != nil {
		return err
	}
	switch {
	case data != nil:
		if err := onlyLive(c, "the I/Os of an incident are as they were traced", "duration", "buffer", "input", "output"); err != nil {
			return err
		}
		return r.replayFrom(c.Context(), bytes.NewReader(data))
	case o.from != "":
		return r.replay(c.Context())
	}
	return r.live(c)
}

// begin prepares the output when it is known what times are counted from.
func (r *traceRun) begin(began time.Time) error {
	r.began = began
	if r.o.summaryOnly || r.o.to != "" {
		return nil
	}
	var err error
	r.show, err = r.app.ioPrinter(r.o.view.format, began)
	return err
}

var errEnough = errors.New("as many as were asked for")

// take handles one I/O.
func (r *traceRun) take(x *sample.IO) error {
	if err := r.until(x.End()); err != nil {
		return err
	}
	r.sum(x)
	if r.file != nil {
		if err := r.file.Add(x); err != nil {
			return err
		}
	}
	if r.show != nil {
		if r.printed && r.o.view.format == "text" {
			fmt.Fprintln(r.app.stdout)
		}
		r.printed = false
		if err := r.show(x); err != nil {
			return err
		}
	}
	if r.taken == r.o.ios {
		return errEnough
	}
	return nil
}

// wanted handles one I/O if it is for the files that the kernel could not
// choose.
func (r *traceRun) wanted(x *sample.IO) error {
	if f := r.o.filter.byName; f != "" && !view.Named(x.File, f) {
		return nil
	}
	return r.take(x)
}

// live traces until it is enough.
func (r *traceRun) live(c *cobra.Command) (err error) {
	o, h := r.o, r.app.host
	options, err := o.filter.options(h, c)
	if err != nil {
		return err
	}
	options.Buffer = o.buffer << 20
	var out *os.File
	if o.to != "" {
		if out, err = r.create(); err != nil {
			return err
		}
		if o.to != "-" {
			defer func() { err = errors.Join(err, closeOutput(out)) }()
		}
	}
	options.Own = outputFiles(out, r.app.stdout)
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	p, began, err := trace.Open(h, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := r.begin(began); err != nil {
		return err
	}
	if out != nil {
		if r.file, err = tracefile.NewWriter(out, r.header()); err != nil {
			return err
		}
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		watch, cancel = context.WithTimeout(watch, o.duration)
		defer cancel()
	}
	runErr := r.watch(watch, p)
	length := time.Since(began)
	if r.file != nil {
		r.file.Losses(r.losses)
		runErr = errors.Join(runErr, r.file.End(length))
	}
	if o.to == "-" {
		return runErr
	}
	return errors.Join(runErr, r.conclude(length))
}

const (
	tracePoll  = 10 * time.Millisecond  // from one look into the kernel's buffer to the next
	traceFlush = 200 * time.Millisecond // what a killed trace lacks at most
)

// watch reads the kernel's buffer until the context ends or it is enough.
func (r *traceRun) watch(ctx context.Context, p *trace.Probe) error {
	line := r.newProgress()
	r.progress = line
	defer line.Erase()
	ticks := time.NewTicker(tracePoll)
	defer ticks.Stop()
	flushed := time.Now()
	for {
		select {
		case <-ctx.Done():
			if err := p.Stop(); err != nil {
				return err
			}
			err := p.Each(r.wanted)
			if errors.Is(err, errEnough) {
				err = nil
			}
			return errors.Join(err, r.count(p))
		case <-ticks.C:
		}
		err := p.Each(r.wanted)
		if errors.Is(err, errEnough) {
			return errors.Join(p.Stop(), r.count(p))
		}
		if err != nil {
			return err
		}
		// what ended before is in the buffer by now
		if elapsed := time.Since(r.began) - 2*tracePoll; r.intervals != nil && elapsed >= r.intervals.since+r.intervals.every {
			line.Erase()
			err := errors.Join(r.count(p), r.until(elapsed))
			if errors.Is(err, errEnough) {
				return p.Stop()
			}
			if err != nil {
				return err
			}
		}
		if now := time.Now(); now.Sub(flushed) >= traceFlush {
			flushed = now
			if err := r.count(p); err != nil {
				return err
			}
			if r.file != nil {
				if err := r.file.Flush(); err != nil {
					return err
				}
			}
			line.Draw(func() string { return r.soFar(now.Sub(r.began)) })
		}
	}
}

// count reads what was lost. A loss is said at once, and kept in the file.
func (r *traceRun) count(p *trace.Probe) error {
	l, err := p.Losses()
	if err != nil {
		return err
	}
	now := tracefile.Losses(l)
	if before := trace.Losses(r.losses).Lost(); l.Lost() > before {
		r.progress.Erase()
		fmt.Fprintf(r.app.stderr, "iocause: %d I/Os were lost, so far %s\n", l.Lost()-before, whyLost(now))
	}
	if now != r.losses && r.file != nil {
		r.file.Losses(now)
	}
	r.losses = now
	return nil
}

// whyLost says what losses come from.
func whyLost(l tracefile.Losses) string {
	var why []string
	add := func(n uint64, what string) {
		if n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(l.Dropped, "for want of room (a larger --buffer, a filter or -o helps)")
	add(l.InFlight, "in flight beyond what is followed")
	add(l.Missed, "completed unseen")
	return strings.Join(why, ", ")
}

// summary prints the tables of a part of the trace; label goes before all else.
func (r *traceRun) summary(since, length time.Duration, l tracefile.Losses, tally *ioTally, label string) error {
	var notes []string
	if lost := l.Dropped + l.InFlight + l.Missed; lost > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os are missing: %s", lost, whyLost(l)))
	}
	if l.Paths > 0 {
		notes = append(notes, fmt.Sprintf("the name of a file could not be read %s: shown as -", sample.Counted(l.Paths, "time")))
	}
	if l.BelowMin > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os were faster than --min and are in no figure", l.BelowMin))
	}
	if l.Own > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os of iocause and for its output are left out", l.Own))
	}
	notes = append(notes, r.notes...)
	label += fmt.Sprintf("%d I/Os in %s", tally.n, table.Duration(length.Seconds()))
	if r.file != nil {
		label += fmt.Sprintf(", %s in %s", table.Value(float64(r.file.Written()), "bytes"), text.Escape(r.o.to))
	}
	if r.o.view.format == "csv" && !r.o.summaryOnly && r.o.to == "" {
		for _, note := range notes {
			fmt.Fprintln(r.app.stderr, "iocause: "+text.Escape(note))
		}
		return nil
	}
	tables := tally.tables(length)
	tables[0].Notes = notes
	r.printer.before = r.printer.before || r.show != nil && r.taken > 0 && r.o.view.format == "text"
	r.printed = true
	return r.printer.print(r.began.Add(since), length, label, tables)
}

// replay reads a file.
func (r *traceRun) replay(ctx context.Context) error {
	var from io.Reader = r.app.stdin
	if r.o.from != "-" {
		f, err := os.Open(r.o.from)
		if err != nil {
			return fmt.Errorf("opening the trace: %w", err)
		}
		defer f.Close()
		from = f
	}
	return r.replayFrom(ctx, from)
}

// replayFrom reads what a trace wrote.
func (r *traceRun) replayFrom(ctx context.Context, from io.Reader) error {
	watch, stop := session.UntilInterrupt(ctx, nil)
	defer stop()
	file, err := tracefile.NewReader(from)
	if errors.Is(err, tracefile.ErrFormat) {
		return fmt.Errorf("%w; -i takes what 'iocause trace -o FILE' made", err)
	}
	if err != nil {
		return err
	}
	if err := r.begin(file.Header().Began); err != nil {
		return err
	}
	if was := file.Header().Filter; was != "" {
		r.notes = append(r.notes, "recorded with a filter: "+was)
	}
	var cut *tracefile.CutError
	for n := 0; ; n++ {
		if n%1000 == 0 && watch.Err() != nil {
			r.notes = append(r.notes, "interrupted: not all was read")
			break
		}
		x, err := file.Next()
		if err == io.EOF {
			break
		}
		if errors.As(err, &cut) {
			r.notes = append(r.notes, err.Error()+"; what came before is here")
			break
		}
		if err != nil {
			return err
		}
		if !r.o.filter.keeps(x) {
			continue
		}
		r.losses = file.Losses()
		if err := r.take(x); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return err
		}
	}
	r.losses = file.Losses()
	length, ended := file.End()
	if !ended {
		length = r.last
		if cut == nil && watch.Err() == nil && !r.ended && (r.o.ios == 0 || r.taken < r.o.ios) {
			r.notes = append(r.notes, "the trace was not ended in order: its last I/Os may be missing")
		}
	}
	return r.conclude(length)
}
