package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
)

// ioPrinter returns what prints one I/O in a format.
func (a *app) ioPrinter(format string, began time.Time) (func(*sample.IO) error, error) {
	switch format {
	case "json":
		return func(x *sample.IO) error { return writeJSONLine(a.stdout, ioObject(x, began)) }, nil
	case "csv":
		w := csv.NewWriter(a.stdout)
		write := func(fields []string) error {
			err := w.Write(fields)
			w.Flush()
			if err = errors.Join(err, w.Error()); err != nil {
				return fmt.Errorf("writing the output: %w", err)
			}
			return nil
		}
		return func(x *sample.IO) error { return write(ioRecord(x, began)) }, write(ioFields())
	}
	return text.NewIOLines(a.stdout, styleOf(a.stdout, os.Getenv, widestTable), began, a.longestDisk()).Write, nil
}

// longestDisk is how long the names of the disks get that have a size.
func (a *app) longestDisk() int {
	longest := 0
	if devices, err := a.host.Devices(); err == nil {
		for _, d := range devices.Disks() {
			if d.Bytes > 0 {
				longest = max(longest, len(d.Name))
			}
		}
	}
	return longest
}

// ioJSON is an I/O for programs: times in seconds, null where not known.
type ioJSON struct {
	Time     time.Time `json:"time"`
	Queue    *float64  `json:"queue_seconds"`
	Device   float64   `json:"device_seconds"`
	Disk     string    `json:"disk"`
	Op       string    `json:"op"`
	Flags    string    `json:"flags"`
	Direct   bool      `json:"direct"`
	Swap     bool      `json:"swap"`
	Sector   uint64    `json:"sector"`
	Bytes    uint64    `json:"bytes"`
	Error    string    `json:"error,omitempty"`
	Requeues uint16    `json:"requeues,omitempty"`
	PID      int       `json:"pid"`
	TID      int       `json:"tid"`
	Comm     string    `json:"comm"`
	Cgroup   *string   `json:"cgroup"`
	File     *string   `json:"file"`
}

func ioObject(x *sample.IO, began time.Time) ioJSON {
	o := ioJSON{Time: began.Add(x.Start), Device: x.Device.Seconds(), Disk: x.Disk, Op: x.Flags.Op(), Flags: x.Flags.String(),
		Direct: x.Flags&sample.IODirect != 0, Swap: x.Flags&sample.IOSwap != 0, Sector: x.Sector, Bytes: x.Bytes,
		Error: sample.IOStatus(x.Status), Requeues: x.Requeues, PID: x.PID, TID: x.TID, Comm: x.Comm}
	if x.Queue >= 0 {
		queue := x.Queue.Seconds()
		o.Queue = &queue
	}
	if x.Cgroup != "" {
		cgroup := x.Cgroup
		o.Cgroup = &cgroup
	}
	if x.File != "" {
		file := x.File
		o.File = &file
	}
	return o
}

func ioFields() []string {
	return []string{"time", "queue_seconds", "device_seconds", "disk", "op", "flags", "direct", "swap", "sector", "bytes",
		"error", "requeues", "pid", "tid", "comm", "cgroup", "file"}
}

func ioRecord(x *sample.IO, began time.Time) []string {
	queue := ""
	if x.Queue >= 0 {
		queue = strconv.FormatFloat(x.Queue.Seconds(), 'g', -1, 64)
	}
	return []string{began.Add(x.Start).Format(time.RFC3339Nano), queue, strconv.FormatFloat(x.Device.Seconds(), 'g', -1, 64),
		text.Escape(x.Disk), x.Flags.Op(), x.Flags.String(),
		strconv.FormatBool(x.Flags&sample.IODirect != 0), strconv.FormatBool(x.Flags&sample.IOSwap != 0),
		strconv.FormatUint(x.Sector, 10), strconv.FormatUint(x.Bytes, 10), sample.IOStatus(x.Status), strconv.Itoa(int(x.Requeues)),
		strconv.Itoa(x.PID), strconv.Itoa(x.TID), text.Escape(x.Comm), text.Escape(x.Cgroup), text.Escape(x.File)}
}

// create makes the file for a trace: nobody else may read it, and nothing but
// an earlier trace is overwritten.
func (r *traceRun) create() (*os.File, error) {
	name := r.o.to
	if name == "-" {
		out, ok := r.app.stdout.(*os.File)
		if _, isTerminal := terminalWidth(r.app.stdout); !ok || isTerminal {
			return nil, &usageError{errors.New("writing the trace: standard output is a terminal"), "give a file, or lead it into a pipe"}
		}
		return out, nil
	}
	return createKept(name, "trace", func(f *os.File) error {
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

func (r *traceRun) header() tracefile.Header {
	h := tracefile.Header{Program: programName(), Began: r.began, Filter: r.o.filter.String()}
	h.Host, _ = os.Hostname()
	if u, err := r.app.host.Fingerprint(); err == nil {
		h.Kernel = u.Kernel
	}
	return h
}

// newProgress is a line for while nothing else is printed.
func (r *traceRun) newProgress() *session.Line {
	line := r.app.newLine()
	if line.InPlace = line.InPlace && r.show == nil; !line.InPlace && r.show == nil {
		line.Say("tracing; Ctrl-C ends it")
	}
	return line
}

// soFar says how far the trace is.
func (r *traceRun) soFar(elapsed time.Duration) string {
	line := fmt.Sprintf("tracing for %s · %d I/Os", table.Duration(elapsed.Seconds()), r.taken)
	if r.file != nil {
		line += " · " + table.Value(float64(r.file.Written()), "bytes") + " written"
	}
	return line
}
