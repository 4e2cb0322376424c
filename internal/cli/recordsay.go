package cli

import (
	"fmt"
	"time"

	"iocause/internal/figure"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// sayRecorded says what is in the file.
func (r *recordRun) sayRecorded() {
	if r.To.Windows() == 0 {
		return
	}
	see := ""
	if r.Name != "-" {
		see = fmt.Sprintf("; see 'iocause diagnose --recording %s'", text.Escape(r.Name))
	}
	each := float64(r.To.Written()) / float64(r.To.Windows())
	fmt.Fprintf(r.env.stderr, "iocause: %s in %s, %s, %s each%s\n", sample.Counted(r.To.Windows(), "window"), table.Duration(time.Since(r.Began).Seconds()),
		table.Value(float64(r.To.Written()), "bytes"), table.Value(each, "bytes"), see)
}

// sayUsed says how the command went, and what it used.
func (r *recordRun) sayUsed() {
	run := r.Ran()
	if !run.Ended {
		return
	}
	fmt.Fprintf(r.env.stderr, "iocause: %s ran for %s (%s): %s user, %s system, at most %s of memory, %s read from disk, %s written, %s major faults\n",
		text.Escape(r.Child.Name()), table.Duration(run.Seconds), run.How, table.Duration(run.User), table.Duration(run.System),
		table.Value(float64(run.MostBytes), "bytes"), table.Value(float64(run.ReadBytes), "bytes"), table.Value(float64(run.WriteBytes), "bytes"),
		table.Value(float64(run.MajorFaults), "count"))
}

// sayBegun says that it records, and until when.
func (r *recordRun) sayBegun() {
	r.line.InPlace = r.line.InPlace && r.Child == nil // a command writes to the same terminal
	until := "until Ctrl-C"
	switch {
	case r.o.duration > 0:
		until = "for " + table.Duration(r.o.duration.Seconds())
	case r.Child != nil:
		until = fmt.Sprintf("until %s ends", text.Escape(r.Child.Name()))
	}
	r.line.Say(fmt.Sprintf("recording to %s %s", text.Escape(r.Name), until))
}

// soFar says how far the recording is, before the window is written.
func (r *recordRun) soFar(w *sample.Window) string {
	line := fmt.Sprintf("%s · window %d, %s", table.Duration(time.Since(r.Began).Seconds()), r.To.Windows()+1, table.Value(float64(r.To.Written()), "bytes"))
	if device, read, written := figure.MostMoved(w); device != "" {
		line += fmt.Sprintf(" · %s reads %s, writes %s", text.Escape(device), table.Value(read, "bytes/s"), table.Value(written, "bytes/s"))
	}
	return line
}
