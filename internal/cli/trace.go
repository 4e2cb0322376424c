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
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/incident"
	"iocause/internal/output"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/store/tracefile"
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
	f.StringVarP(&o.from, "input", "i", "", "read the I/Os from this file; - is stdin")
	f.Var(ask.TimeIn(&o.duration, 0), "duration", "how long to trace; 0 until Ctrl-C")
	f.Uint64Var(&o.ios, "ios", 0, "end after so many I/Os; 0 for no limit")
	f.IntVar(&o.filter.PID, "pid", 0, "only I/Os that this process asked for")
	f.StringVar(&o.filter.Comm, "comm", "", "only I/Os that a thread of this name asked for")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "only I/Os of this cgroup and those below it")
	f.StringVar(&o.filter.Device, "device", "", "only I/Os on the disk of this block device")
	f.StringVar(&o.filter.File, "file", "", "only I/Os for a file, what is below a directory, or a pattern")
	f.Var(ask.TimeIn(&o.filter.Min, 0), "min", "only I/Os that took this long (10ms) or longer")
	f.BoolVar(&o.summaryOnly, "summary", false, "print the summary only")
	f.Var(ask.RowsIn(&o.view.top, 10), "top", "rows of each table; 0: all")
	f.StringVar(&o.view.sort, "sort", "ios", "column to sort by, as JSON names it")
	f.Var(ask.Formats(&o.view.format, "json", "csv", "perfetto"), "format", "text, json (lines), csv (I/Os) or perfetto")
	f.BoolVarP(&o.view.stamp, "timestamps", "t", false, "print the time of every summary")
	f.IntVar(&o.buffer, "buffer", 16, "MiB of buffer in the kernel")
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
		return &ask.Error{Err: errors.New("reading the flags: --format perfetto writes the I/Os to standard output"), Next: "leave out --output and --summary"}
	case o.from != "" && o.to != "":
		return &ask.Error{Err: errors.New("reading the flags: --input and --output cannot be combined"), Next: "give one of them"}
	case o.to == "-" && o.view.every > 0:
		return &ask.Error{Err: errors.New("reading the arguments: with --output - no summary is printed"), Next: "leave out INTERVAL, or give a file"}
	case o.from != "" && o.duration != 0:
		return &ask.Error{Err: errors.New("reading the flags: --input and --duration cannot be combined"), Next: "leave out --duration"}
	case o.buffer < 1 || o.buffer > 1024 || o.buffer&(o.buffer-1) != 0:
		return &ask.Error{Err: fmt.Errorf("reading --buffer: %d MiB is not a power of two from 1 to 1024", o.buffer), Next: "give 16, 64 or 256"}
	}
	return nil
}

// playedDisk is how long the names of the disks of a trace or an incident may get,
// whose machine had others than this one: as nvme0n1.
const playedDisk = 7

func runTrace(e *env, c *cobra.Command, o *traceOptions) error {
	data, err := readEvidence(e, c, &o.playback, incident.SectionTrace)
	if err != nil {
		return err
	}
	t := show.NewTrace(e.stdout, e.stderr, &trace.Observer{Every: o.view.every, Count: o.view.count, Most: o.ios})
	t.Printer, t.Program, t.Disk = newPrinter(e.streams, &o.view), version.Program(), playedDisk
	t.Each, t.Perfetto, t.To = !o.summaryOnly && o.to == "", o.perfetto, o.to
	// a wrong column is said before an hour of tracing, not after
	if err := t.Printer.Arrange(trace.Tables()); err != nil {
		return err
	}
	if o.to != "-" {
		t.Summary = t.Sum
	}
	if o.filter.File, err = wantedFile(c, o.filter.File); err != nil {
		return err
	}
	switch {
	case data != nil:
		if err := onlyLive(c, nil, "the I/Os of an incident are fixed", "duration", "buffer", "input", "output"); err != nil {
			return err
		}
		return readTrace(c.Context(), t, o, bytes.NewReader(data))
	case o.from == "-":
		return readTrace(c.Context(), t, o, e.stdin)
	case o.from != "":
		f, err := os.Open(o.from)
		if err != nil {
			return fmt.Errorf("opening the trace: %w", err)
		}
		defer f.Close()
		return readTrace(c.Context(), t, o, f)
	}
	t.Disk = e.host.LongestDisk()
	return liveTrace(e, c, t, o)
}

// liveTrace traces until it is enough.
func liveTrace(e *env, c *cobra.Command, t *show.Trace, o *traceOptions) (err error) {
	options, err := o.filter.Options(e.host, changed(c, append(filters.Names(), "file")...))
	if err != nil {
		return err
	}
	options.Buffer = o.buffer << 20
	var out output.KeptFile
	options.Own = trace.OutputFiles(e.host, e.stdout)
	if o.to != "" {
		if out, err = output.Kept(e.stdout, o.to, "trace", trace.IsFile); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, out.Close()) }()
		options.Own = trace.OutputFiles(e.host, out.File(), e.stdout)
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	l, err := trace.Open(e.host, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := t.Begin(l.Began); err != nil {
		return err
	}
	if out != nil {
		h := trace.Header(e.host, version.Program())
		h.Began, h.Filter = l.Began, o.filter.String()
		if t.File, err = tracefile.NewWriter(out, h); err != nil {
			return err
		}
	}
	l.Wanted = o.filter.Wanted()
	t.Follow(l)
	absent := filters.NotThere(e.host, diagnose.Target{Comm: o.filter.Comm}, o.filter.File)
	absent.Warn(e.stderr)
	err = t.Ended(l.Run(watch, t.Observer, o.duration, t.File))
	absent.Found(t.Observer.Taken() > 0)
	return errors.Join(err, absent.Err(0))
}

// readTrace sums up what a trace wrote.
func readTrace(ctx context.Context, t *show.Trace, o *traceOptions, from io.Reader) error {
	watch, stop := session.UntilInterrupt(ctx, nil)
	defer stop()
	file, err := tracefile.NewReader(from)
	if errors.Is(err, tracefile.ErrFormat) {
		return fmt.Errorf("%w; -i takes what 'iocause trace -o FILE' made", err)
	}
	if err != nil {
		return err
	}
	if err := t.Begin(file.Header().Began); err != nil {
		return err
	}
	return t.Ended(trace.Read(watch, file, o.filter.Keeps, t.Observer))
}
