package cli

import (
	"fmt"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/table"
)

// kept says what there is of a recording that failed.
func (r *recordRun) kept() string {
	if r.to == nil || r.to.Windows() == 0 {
		return "nothing was recorded"
	}
	return fmt.Sprintf("%s from before: %s", sample.Counted(r.to.Windows(), "window"), text.Escape(r.name))
}

// sayRecorded says what is in the file.
func (r *recordRun) sayRecorded() {
	if r.to.Windows() == 0 {
		return
	}
	see := ""
	if r.name != "-" {
		see = fmt.Sprintf("; see 'iocause diagnose --recording %s'", text.Escape(r.name))
	}
	each := float64(r.to.Written()) / float64(r.to.Windows())
	fmt.Fprintf(r.env.stderr, "iocause: %s in %s, %s, %s each%s\n", sample.Counted(r.to.Windows(), "window"), table.Duration(time.Since(r.began).Seconds()),
		table.Value(float64(r.to.Written()), "bytes"), table.Value(each, "bytes"), see)
}

// sayUsed says how the command went, and what it used.
func (r *recordRun) sayUsed() {
	run := r.ranSo()
	if !run.Ended {
		return
	}
	fmt.Fprintf(r.env.stderr, "iocause: %s ran for %s (%s): %s user, %s system, at most %s of memory, %s read from disk, %s written, %s major faults\n",
		text.Escape(r.child.Name()), table.Duration(run.Seconds), run.How, table.Duration(run.User), table.Duration(run.System),
		table.Value(float64(run.MostBytes), "bytes"), table.Value(float64(run.ReadBytes), "bytes"), table.Value(float64(run.WriteBytes), "bytes"),
		table.Value(float64(run.MajorFaults), "count"))
}

// newProgress says that it records, and until when. The line follows that.
func (r *recordRun) newProgress() *session.Line {
	line := newLine(r.env.stderr)
	line.InPlace = line.InPlace && r.child == nil // a command writes to the same terminal
	until := "until Ctrl-C"
	switch {
	case r.o.duration > 0:
		until = "for " + table.Duration(r.o.duration.Seconds())
	case r.child != nil:
		until = fmt.Sprintf("until %s ends", text.Escape(r.child.Name()))
	}
	line.Say(fmt.Sprintf("recording to %s %s", text.Escape(r.name), until))
	return line
}

// soFar says how far the recording is, before the window is written.
func (r *recordRun) soFar(w *sample.Window) string {
	line := fmt.Sprintf("%s · window %d, %s", table.Duration(time.Since(r.began).Seconds()), r.to.Windows()+1, table.Value(float64(r.to.Written()), "bytes"))
	if device, read, written := busiest(w); device != "" {
		line += fmt.Sprintf(" · %s reads %s, writes %s", text.Escape(device), table.Value(read, "bytes/s"), table.Value(written, "bytes/s"))
	}
	return line
}

// busiest is the device that moved most, and its bytes per second; "" when all
// rested. Devices are not added up: one may lie on top of another.
func busiest(w *sample.Window) (device string, read, written float64) {
	w.Each(sample.DiskReadBytes, func(e sample.Entity, s *sample.Series) {
		in := s.Sum() / w.Seconds()
		out, _ := w.Sum(sample.DiskWriteBytes, e)
		out /= w.Seconds()
		if most := read + written; in+out > most || in+out == most && most > 0 && e.Device < device {
			device, read, written = e.Device, in, out
		}
	})
	return device, read, written
}
