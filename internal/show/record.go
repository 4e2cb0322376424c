package show

import (
	"fmt"
	"time"

	"iocause/internal/figure"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/tool/record"
)

// Recorded says what is in the file; "" where it is empty.
func Recorded(r *record.Recorder) string {
	if r.To.Windows() == 0 {
		return ""
	}
	see := ""
	if r.Name != "-" {
		see = fmt.Sprintf("; see 'iocause diagnose --recording %s'", text.Escape(r.Name))
	}
	each := float64(r.To.Written()) / float64(r.To.Windows())
	return fmt.Sprintf("%s in %s, %s, %s each%s", sample.Counted(r.To.Windows(), "window"), table.Duration(time.Since(r.Began).Seconds()),
		table.Value(float64(r.To.Written()), "bytes"), table.Value(each, "bytes"), see)
}

// Used says how the command went, and what it used; "" where it has not ended.
func Used(r *record.Recorder) string {
	run := r.Ran()
	if !run.Ended {
		return ""
	}
	return fmt.Sprintf("%s ran for %s (%s): %s user, %s system, at most %s of memory, %s read from disk, %s written, %s major faults",
		text.Escape(r.Child.Name()), table.Duration(run.Seconds), run.How, table.Duration(run.User), table.Duration(run.System),
		table.Value(float64(run.MostBytes), "bytes"), table.Value(float64(run.ReadBytes), "bytes"), table.Value(float64(run.WriteBytes), "bytes"),
		table.Value(float64(run.MajorFaults), "count"))
}

// Begun says that it records, and until when.
func Begun(r *record.Recorder) string {
	until := "until Ctrl-C"
	switch {
	case r.Duration > 0:
		until = "for " + table.Duration(r.Duration.Seconds())
	case r.Child != nil:
		until = fmt.Sprintf("until %s ends", text.Escape(r.Child.Name()))
	}
	return fmt.Sprintf("recording to %s %s", text.Escape(r.Name), until)
}

// Recording says how far the recording is, before the window is written.
func Recording(r *record.Recorder, w *sample.Window) string {
	line := fmt.Sprintf("%s · window %d, %s", table.Duration(time.Since(r.Began).Seconds()), r.To.Windows()+1, table.Value(float64(r.To.Written()), "bytes"))
	if device, read, written := figure.MostMoved(w); device != "" {
		line += fmt.Sprintf(" · %s reads %s, writes %s", text.Escape(device), table.Value(read, "bytes/s"), table.Value(written, "bytes/s"))
	}
	return line
}
