package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"iocause/internal/console"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/store/tracefile"
	"iocause/internal/store/whole"
	"iocause/internal/table"
	"iocause/internal/tool/trace"
)

// ioPrinter returns what prints one I/O in a format; disk is how long the names of
// disks get.
func ioPrinter(out io.Writer, format string, began time.Time, disk int) (func(*sample.IO) error, error) {
	switch format {
	case "json":
		return func(x *sample.IO) error { return writeJSONLine(out, trace.Of(x, began)) }, nil
	case "csv":
		w := csv.NewWriter(out)
		write := func(fields []string) error {
			for i := range fields { // names may hold anything
				fields[i] = text.Escape(fields[i])
			}
			err := w.Write(fields)
			w.Flush()
			if err = errors.Join(err, w.Error()); err != nil {
				return fmt.Errorf("writing the output: %w", err)
			}
			return nil
		}
		return func(x *sample.IO) error { o := trace.Of(x, began); return write(o.Record()) }, write(trace.Fields())
	}
	return text.NewIOLines(out, console.Style(out, os.Getenv, console.WidestTable), began, disk).Write, nil
}

// playedDisk is how long the names of the disks of a trace or an incident may get,
// whose machine had others than this one: as nvme0n1.
const playedDisk = 7

// longestDisk is how long the names of the disks get that have a size.
func longestDisk(h *host.Host) int {
	longest := 0
	if devices, err := h.Devices(); err == nil {
		for _, d := range devices.Disks() {
			if d.Bytes > 0 {
				longest = max(longest, len(d.Name))
			}
		}
	}
	return longest
}

// create makes the file for a trace: nobody else may read it, and nothing but
// an earlier trace is overwritten.
func (r *traceRun) create() (*os.File, error) {
	name := r.o.to
	if name == "-" {
		out, ok := r.env.stdout.(*os.File)
		if _, isTerminal := console.Width(r.env.stdout); !ok || isTerminal {
			return nil, &usageError{errors.New("writing the trace: standard output is a terminal"), "give a file, or lead it into a pipe"}
		}
		return out, nil
	}
	return whole.Kept(name, "trace", func(f *os.File) error {
		_, err := tracefile.NewReader(f)
		return err
	})
}

func closeOutput(f *os.File) error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}

// soFar says how far the trace is.
func (r *traceRun) soFar(elapsed time.Duration) string {
	line := fmt.Sprintf("tracing for %s · %d I/Os", table.Duration(elapsed.Seconds()), r.Taken())
	if r.file != nil {
		line += " · " + table.Value(float64(r.file.Written()), "bytes") + " written"
	}
	return line
}
