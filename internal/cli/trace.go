package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/filters"
	"iocause/internal/incident"
	"iocause/internal/present/perfetto"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
	"iocause/internal/tool/trace"
	"iocause/internal/version"
)

// traceOptions are the flags of trace.
type traceOptions struct {
	filter      trace.Filter
	view        intervals // every is 0 for one sum at the end
	duration    time.Duration
	ios         uint64 // 0: no limit
	from, to    string
	summaryOnly bool
	perfetto    bool
	buffer      int // MiB
	playback    playback
}

func newTraceCommand(e *env) *cobra.Command {
	o := &traceOptions{}
	c := &cobra.Command{
		Use:   "trace " + intervalUsage,
		Short: "Show every I/O with its times, process, cgroup and file",
		Args:  func(c *cobra.Command, args []string) error { return o.args(args) },
		RunE:  func(c *cobra.Command, args []string) error { return runTrace(e, c, o) },
	}
	f := c.Flags()
	f.StringVarP(&o.to, "output", "o", "", "keep the I/Os in this file; - is stdout")
	f.StringVarP(&o.from, "input", "i", "", "read the I/Os from such a file; - is stdin")
	f.Var(ask.TimeIn(&o.duration, 0), "duration", "how long to trace; 0 until Ctrl-C")
	f.Uint64Var(&o.ios, "ios", 0, "end after so many I/Os; 0 for no limit")
	f.IntVar(&o.filter.PID, "pid", 0, "only I/Os that this process asked for")
	f.StringVar(&o.filter.Comm, "comm", "", "only I/Os that a thread of this name asked for")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "only I/Os of this cgroup and those below it")
	f.StringVar(&o.filter.Device, "device", "", "only I/Os on the disk of this block device")
	f.StringVar(&o.filter.File, "file", "", "only I/Os for a file, what is below a directory,\nor a pattern")
	f.Var(ask.TimeIn(&o.filter.Min, 0), "min", "only I/Os that took so long (10ms) or longer")
	f.BoolVar(&o.summaryOnly, "summary", false, "print the summary only")
	f.Var(ask.RowsIn(&o.view.top, 10), "top", "rows of each table, 0 for all")
	f.StringVar(&o.view.sort, "sort", "ios", "column to sort by, as JSON names it")
	f.Var(ask.Formats(&o.view.format, "json", "csv", "perfetto"), "format", "text, json (lines), csv (I/Os) or\nperfetto")
	f.BoolVarP(&o.view.stamp, "timestamps", "t", false, "print the time of every summary")
	f.IntVar(&o.buffer, "buffer", 16, "MiB of room in the kernel")
	o.playback.bind(c)
	return c
}

func (o *traceOptions) args(args []string) error {
	if o.perfetto = o.view.format == "perfetto"; o.perfetto {
		o.view.format = "csv" // like that, it has no room for tables
	}
	if err := o.view.args(args); err != nil {
		return err
	}
	if len(args) == 0 {
		o.view.every = 0
	}
	switch {
	case o.perfetto && (o.to != "" || o.summaryOnly):
		return &ask.Error{Err: errors.New("reading the flags: --format perfetto is of the I/Os themselves, on standard output"), Next: "leave out --output and --summary"}
	case o.from != "" && o.to != "":
		return &ask.Error{Err: errors.New("reading the flags: --input and --output exclude each other"), Next: "give one of them"}
	case o.to == "-" && o.view.every > 0:
		return &ask.Error{Err: errors.New("reading the arguments: with --output - no summary is printed"), Next: "leave out INTERVAL, or give a file"}
	case o.from != "" && o.duration != 0:
		return &ask.Error{Err: errors.New("reading the flags: --input and --duration exclude each other"), Next: "leave out --duration"}
	case o.buffer < 1 || o.buffer > 1024 || o.buffer&(o.buffer-1) != 0:
		return &ask.Error{Err: fmt.Errorf("reading --buffer: %d MiB is no power of two from 1 to 1024", o.buffer), Next: "give 16, 64 or 256"}
	}
	return nil
}

// traceRun is one trace on its way to the output.
type traceRun struct {
	env *env
	o   *traceOptions
	*trace.Observer
	began   time.Time
	file    *tracefile.Writer // nil without -o
	printer *console.Printer
	lines   func(*sample.IO) error // nil for the summary only
	printed bool                   // a summary, below the I/Os so far
	line    *session.Line
	disk    int              // how long the names of disks get
	chrome  *perfetto.Writer // nil for other formats
}

func runTrace(e *env, c *cobra.Command, o *traceOptions) error {
	data, err := readEvidence(e, c, &o.playback, incident.SectionTrace)
	if err != nil {
		return err
	}
	r := &traceRun{env: e, o: o, printer: newPrinter(e.streams, &o.view), line: console.NewLine(e.stderr), disk: playedDisk,
		Observer: &trace.Observer{Every: o.view.every, Count: o.view.count, Most: o.ios}}
	// a wrong column is said before an hour of tracing, not after
	if err := r.printer.Arrange(trace.Tables()); err != nil {
		return err
	}
	if o.to != "-" {
		r.Summary = r.summary
	}
	if o.filter.File, err = wantedFile(c, o.filter.File); err != nil {
		return err
	}
	switch {
	case data != nil:
		if err := onlyLive(c, nil, "the I/Os of an incident are as they were traced", "duration", "buffer", "input", "output"); err != nil {
			return err
		}
		return r.read(c.Context(), bytes.NewReader(data))
	case o.from == "-":
		return r.read(c.Context(), e.stdin)
	case o.from != "":
		f, err := os.Open(o.from)
		if err != nil {
			return fmt.Errorf("opening the trace: %w", err)
		}
		defer f.Close()
		return r.read(c.Context(), f)
	}
	r.disk = e.host.LongestDisk()
	return r.live(c)
}

// begin prepares the output when it is known what times are counted from.
func (r *traceRun) begin(began time.Time) (err error) {
	r.began = began
	if r.o.summaryOnly || r.o.to != "" {
		return nil
	}
	if r.o.perfetto {
		if r.chrome, err = perfetto.New(r.env.stdout, version.Program(), began); err == nil {
			r.lines, r.IO = r.chrome.Write, r.show
		}
		return err
	}
	r.lines, err = show.IOs(r.env.stdout, r.o.view.format, began, r.disk, console.Style(r.env.stdout, os.Getenv, console.WidestTable))
	r.IO = r.show
	return err
}

// show prints one I/O.
func (r *traceRun) show(x *sample.IO) error {
	if r.printed && r.o.view.format == "text" {
		fmt.Fprintln(r.env.stdout)
	}
	r.printed = false
	return r.lines(x)
}

// live traces until it is enough.
func (r *traceRun) live(c *cobra.Command) (err error) {
	o, e := r.o, r.env
	options, err := o.filter.Options(e.host, changed(c, append(filters.Names(), "file")...))
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
	options.Own = trace.OutputFiles(out, e.stdout)
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	l, err := trace.Open(e.host, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := r.begin(l.Began); err != nil {
		return err
	}
	if out != nil {
		h := trace.Header(e.host, version.Program())
		h.Began, h.Filter = l.Began, o.filter.String()
		if r.file, err = tracefile.NewWriter(out, h); err != nil {
			return err
		}
	}
	l.Wanted = o.filter.Wanted()
	l.Lost = func(more uint64, all tracefile.Losses) {
		r.line.Say(fmt.Sprintf("%d I/Os were lost, so far %s", more, all.Why()))
	}
	if r.lines == nil {
		l.Show = func(elapsed time.Duration) { r.line.Draw(func() string { return r.soFar(elapsed) }) }
		if !r.line.InPlace {
			r.line.Say("tracing; Ctrl-C ends it")
		}
	}
	defer r.line.Erase()
	return r.ended(l.Run(watch, r.Observer, o.duration, r.file))
}

// read sums up what a trace wrote.
func (r *traceRun) read(ctx context.Context, from io.Reader) error {
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
	return r.ended(trace.Read(watch, file, r.o.filter.Keeps, r.Observer))
}

// ended closes the document of a format that has an end.
func (r *traceRun) ended(err error) error {
	if err != nil || r.chrome == nil {
		return err
	}
	return r.chrome.Close()
}

// summary prints the tables of a part of the trace.
func (r *traceRun) summary(s *trace.Summary) error {
	r.line.Erase()
	label := fmt.Sprintf("%d I/Os in %s", s.IOs(), table.Duration(s.Length.Seconds()))
	if s.Whole {
		label = fmt.Sprintf("in all, %s: ", table.Duration(s.Length.Seconds())) + label
	}
	if r.file != nil {
		label += fmt.Sprintf(", %s in %s", table.Value(float64(r.file.Written()), "bytes"), text.Escape(r.o.to))
	}
	tables := s.Tables()
	if r.o.view.format == "csv" && r.lines != nil {
		for _, note := range tables[0].Notes {
			fmt.Fprintln(r.env.stderr, "iocause: "+text.Escape(note))
		}
		return nil
	}
	r.printer.Before = r.printer.Before || r.lines != nil && r.Taken() > 0 && r.o.view.format == "text"
	r.printed = true
	return r.printer.Print(r.began.Add(s.Since), s.Length, label, tables)
}
