package show

import (
	"fmt"
	"io"
	"os"
	"time"

	"iocause/internal/console"
	"iocause/internal/present/perfetto"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
	"iocause/internal/tool/trace"
)

// Trace shows I/Os as they come, what they add up to, and how far that is.
type Trace struct {
	*trace.Observer
	Printer  *console.Printer // of the sums
	Program  string           // that traced
	Disk     int              // how long the names of disks get
	Each     bool             // show every I/O
	Perfetto bool             // ... as a trace of Perfetto's
	To       string           // the file that keeps the I/Os, as it is named
	File     *tracefile.Writer

	out, notes io.Writer
	began      time.Time
	lines      func(*sample.IO) error // nil for sums only
	printed    bool                   // a sum, below the I/Os so far
	line       *session.Line
	chrome     *perfetto.Writer // nil for other formats
}

// NewTrace shows what an observer is handed.
func NewTrace(out, notes io.Writer, o *trace.Observer) *Trace {
	return &Trace{Observer: o, out: out, notes: notes, line: console.NewLine(notes)}
}

// Begin is called when it is known what times are counted from.
func (t *Trace) Begin(began time.Time) (err error) {
	t.began = began
	switch {
	case !t.Each:
		return nil
	case t.Perfetto:
		if t.chrome, err = perfetto.New(t.out, t.Program, began); err != nil {
			return err
		}
		t.lines = t.chrome.Write
	default:
		t.lines, err = IOs(t.out, t.Printer.Form.Format, began, t.Disk, console.Style(t.out, os.Getenv, console.WidestTable))
	}
	t.IO = t.one
	return err
}

// one shows one I/O.
func (t *Trace) one(x *sample.IO) error {
	if t.printed && t.Printer.Form.Format == "text" {
		fmt.Fprintln(t.out)
	}
	t.printed = false
	return t.lines(x)
}

// Follow says what is lost of a trace of this machine and, where I/Os are not shown,
// how far it is.
func (t *Trace) Follow(l *trace.Live) {
	l.Lost = func(more uint64, all tracefile.Losses) {
		t.line.Say(fmt.Sprintf("%d I/Os were lost, so far %s", more, all.Why()))
	}
	if t.lines != nil {
		return
	}
	l.Show = func(elapsed time.Duration) { t.line.Draw(func() string { return t.soFar(elapsed) }) }
	if !t.line.InPlace {
		t.line.Say("tracing; Ctrl-C ends it")
	}
}

func (t *Trace) soFar(elapsed time.Duration) string {
	line := fmt.Sprintf("tracing for %s · %d I/Os", table.Duration(elapsed.Seconds()), t.Taken())
	if t.File != nil {
		line += " · " + table.Value(float64(t.File.Written()), "bytes") + " written"
	}
	return line
}

// Sum prints the tables of a part of the trace.
func (t *Trace) Sum(s *trace.Summary) error {
	t.line.Erase()
	label := fmt.Sprintf("%d I/Os in %s", s.IOs(), table.Duration(s.Length.Seconds()))
	if s.Whole {
		label = fmt.Sprintf("in all, %s: ", table.Duration(s.Length.Seconds())) + label
	}
	if t.File != nil {
		label += fmt.Sprintf(", %s in %s", table.Value(float64(t.File.Written()), "bytes"), text.Escape(t.To))
	}
	tables := s.Tables()
	if t.Printer.Form.Format == "csv" && t.lines != nil {
		for _, note := range tables[0].Notes {
			fmt.Fprintln(t.notes, "iocause: "+text.Escape(note))
		}
		return nil
	}
	t.Printer.Before = t.Printer.Before || t.lines != nil && t.Taken() > 0 && t.Printer.Form.Format == "text"
	t.printed = true
	return t.Printer.Print(t.began.Add(s.Since), s.Length, label, tables)
}

// Ended closes the document of a format that has an end, once all was traced.
func (t *Trace) Ended(err error) error {
	t.line.Erase()
	if err != nil || t.chrome == nil {
		return err
	}
	return t.chrome.Close()
}
