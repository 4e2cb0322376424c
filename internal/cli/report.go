package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/output"
	"iocause/internal/picture"
	"iocause/internal/present/perfetto"
	"iocause/internal/replay"
	"iocause/internal/report"
	"iocause/internal/table"
	"iocause/internal/version"
)

// reportOptions are the flags of report.
type reportOptions struct {
	output   string
	format   string // html, json or csv
	filter   filter
	playback playback
	against  pastOptions
}

func newReportCommand(e *env) *cobra.Command {
	o := &reportOptions{}
	c := &cobra.Command{
		Use:   "report [FILE|N] [flags]",
		Short: "Write a recording or an incident as one HTML page",
		Args:  arguments(0, "give one recording or incident", "FILE"),
		RunE:  func(c *cobra.Command, args []string) error { return runReport(e, c, o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "file to write; - is stdout (default iocause-TIME.html)")
	f.Var(ask.OneOf(&o.format, "html", "html", "json", "csv", "perfetto"), "format", "html; or to standard output: json or csv (cells of the latency heat maps), perfetto (time series)")
	f.IntVar(&o.filter.PID, "pid", 0, "limit it to this process")
	f.StringVar(&o.filter.Comm, "comm", "", "limit it to processes of this name")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "limit it to processes in and below this cgroup")
	f.StringVar(&o.filter.Device, "device", "", "limit it to I/O on this block device")
	o.playback.bind(c)
	o.against.bind(c)
	return c
}

// runReport is the command: read, judge, write.
func runReport(e *env, c *cobra.Command, o *reportOptions, args []string) error {
	if len(args) > 0 {
		if o.playback.file != "" {
			return &ask.Error{Err: errors.New("reading the arguments: FILE and --recording cannot be combined"), Next: "give one of them"}
		}
		o.playback.file = args[0]
	}
	if play, err := o.playback.asked(c); err != nil {
		return err
	} else if !play {
		return &ask.Error{Err: errors.New("reading the arguments: there is nothing to report on"), Next: "give a recording, the number of an incident, or --from; for the current state use 'iocause diagnose -o FILE.html'"}
	}
	switch cells := o.format != "html"; {
	case cells && o.output != "":
		return &ask.Error{Err: errors.New("reading the flags: --output names a page, and " + o.format + " goes to standard output"), Next: "write > FILE instead"}
	case cells:
		o.output = "-"
	}
	name := o.output
	if name == "" {
		name = "iocause-" + e.host.Now().Format("20060102-150405") + ".html"
	}
	if o.format == "html" {
		if err := output.CheckPage(e.stdout, name); err != nil {
			return err
		}
	}
	given, err := o.filter.one(c)
	if err != nil {
		return err
	}
	target, err := o.filter.Recorded(given)
	if err != nil {
		return err
	}
	past, err := readPast(e, &o.against, o.playback.dir)
	if err != nil {
		return err
	}
	page, err := report.Of(newOpener(e, o.playback.dir), report.Ask{
		Name: replay.Numbered(o.playback.dir, o.playback.file), Interval: o.playback.interval(), Target: target, Asked: o.filter.Words(given), Past: past,
	})
	if err != nil {
		return err
	}
	switch o.format {
	case "perfetto":
		page.Program = version.Program()
		return perfetto.Course(e.stdout, page)
	case "json", "csv":
		return writeCells(e, o.format, page)
	}
	return writePage(e, name, page)
}

// writeCells writes what the heat maps of a page are drawn from.
func writeCells(e *env, format string, page *picture.Page) error {
	if len(page.Sets) == 0 || !slices.ContainsFunc(page.Sets, func(s *picture.Set) bool { return len(s.Heats) > 0 }) {
		return errors.New("writing the cells: it has no latency heat map; recordings of 'iocause record' and incidents with a trace have one")
	}
	start, length := picture.Interval(page.Sets)
	return newPrinter(e.streams, &intervals{format: format}).Print(start, length, "", []table.Table{picture.Cells(page.Sets)})
}

// checkBeside refuses a page that could not be written beside what is printed; "" is
// none.
func checkBeside(name string) error {
	switch name {
	case "":
		return nil
	case "-":
		return &ask.Error{Err: errors.New("reading --output: standard output is for the printed output"), Next: "give a file that ends in .html"}
	}
	return output.CheckPage(nil, name)
}

// writePage writes a page that nobody else may read.
func writePage(e *env, name string, page *picture.Page) error {
	page.Program = version.Program()
	return output.Page(e.stdout, e.stderr, name, page)
}
